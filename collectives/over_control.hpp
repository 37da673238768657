// What transports for memory of GPUs have in common: messages of the host go through another transport.
#pragma once

#include "collectives/device_mail.hpp"
#include "collectives/transport.hpp"

namespace homz {

class OverControl : public Transport {
 public:
  // `mail`: null where that of `control` is taken.
  OverControl(std::unique_ptr<Transport> control, std::unique_ptr<DeviceMail> mail)
      : control_(std::move(control)), mail_(std::move(mail)) {}

  int rank() const noexcept override { return control_->rank(); }
  int size() const noexcept override { return control_->size(); }
  std::span<const int> nodes() const noexcept override { return control_->nodes(); }

  Status send(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
              Pending* pending) override {
    return control_->send(bytes, std::move(owner), to, tag, pending);
  }
  Status receive(Bytes capacity, int from, int tag, Pending* pending) override {
    return control_->receive(capacity, from, tag, pending);
  }
  // Whatever becomes of the one, the other moves on: news of failed calls are messages of the host.
  Status poll() override {
    const Status mail = mail_ ? mail_->poll() : Status(), control = control_->poll();
    return mail.ok() ? control : mail;
  }
  void yield() override { mail_ && mail_->is_busy() ? mail_->yield() : control_->yield(); }
  void abandon(Pending* pending) override {
    if (mail_) mail_->abandon(pending);
    control_->abandon(pending);
  }

  bool moves_device_memory() const noexcept override { return true; }
  int gpu() const noexcept override { return mail_ ? mail_->gpu() : control_->gpu(); }
  void give_up() noexcept override { control_->give_up(); }
  Status send_device(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
                     Pending* pending) override {
    return mail_ ? mail_->send(bytes, std::move(owner), to, tag, pending)
                 : control_->send_device(bytes, std::move(owner), to, tag, pending);
  }
  Status receive_device(Bytes bytes, int from, int tag, Pending* pending) override {
    return mail_ ? mail_->receive(bytes, from, tag, pending)
                 : control_->receive_device(bytes, from, tag, pending);
  }

  bool has_native(Collective collective, std::uint64_t count, Space space) const noexcept override {
    return control_->has_native(collective, count, space);
  }
  Status native(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                std::uint64_t count, int root, Exec exec) override {
    return control_->native(collective, op, dtype, in, out, count, root, exec);
  }

 protected:
  Transport& control() { return *control_; }

 private:
  std::unique_ptr<Transport> control_;
  std::unique_ptr<DeviceMail> mail_;
};

}  // namespace homz
