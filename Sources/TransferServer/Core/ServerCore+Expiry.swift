import TransferDatabase
import TransferIntake
import TransferMail
import TransferModel
import TransferStore
import TransferSystem

/// Unfinished uploads don't stay for ever.
extension ServerCore {
    /// Lets the catalog know what came of the last server's changes of names; before anything else is changed.
    func settleIntended() {
        let changes = intake.settleIntended(in: store)
        if changes > 0 { observability.log.write([.changesSettled(changes)]) }
    }

    /// Removes those that are too old, and says what is left.
    ///
    /// - Parameter leftovers: whether to remove what nobody can resume, which is only known before the first upload.
    func expire(leftovers: Bool) {
        let clock = lookAtClock()
        do throws(Failure) {
            let (removed, left) = try intake.expire(leftovers: leftovers, age: clock.age(of:))
            if removed.count > 0 { observability.log.write([.expired(removed)]) }
            if left.count > 0 { observability.log.write([.unfinished(left)]) }
        } catch {
            observability.log.write([.expiryFailed(error)])
        }
        intake.forgetUnfinished()
        expireTrash(by: clock)
        expireMail(leftovers: leftovers)
    }

    /// Looks at the machine's clock, and writes down for the next server what it says. Where that cannot be written, a clock that is
    /// set while no server runs is taken as it is.
    private func lookAtClock() -> DirectoryClock {
        let path = "\(configuration.directory)/\(RelativePath.reservedName)/clock"
        return directoryClock.withLock { clock in
            if clock == DirectoryClock(), let file = try? OwnFile(reading: path, atMost: 4096), file.isGuarded,
                let text = String(validating: file.content, as: UTF8.self), let known = DirectoryClock(text)
            {
                clock = known
            }
            clock.look(utc: utcNanoseconds() / 1_000_000_000, boot: BootID.current, age: secondsSinceBoot())
            _ = try? OwnFile.write(Array(clock.text.utf8), to: path, replaces: true)
            return clock
        }
    }

    /// What was removed is gone for good some time.
    private func expireTrash(by clock: DirectoryClock) {
        let keep = transport.settings.keepTrash.nanoseconds / 1_000_000_000
        let files = ConnectionFiles(WorkerResources(self))
        do throws(Failure) {
            for batch in try store.trash(below: nil) {
                guard let moment = batch.moment, clock.age(of: moment.seconds) > keep else { continue }
                var gone: UInt64 = 0
                let removal = try files.beginRemoval(of: .trash(batch, nil), isRecursive: true)
                while try !files.goOn(removal, gone: &gone) {}
                try files.commit([removal])
                observability.log.write([.trashExpired(batch, gone)])
            }
        } catch {
            observability.log.write([.expiryFailed(error)])
        }
    }

    /// What waits in mailboxes doesn't stay for ever, either.
    private func expireMail(leftovers: Bool) {
        guard intake.mailroom?.isOpen ?? false else { return }
        do throws(DatabaseError) {
            let orphans = leftovers ? try intake.sweepMail() : 0
            let expired = try intake.expireMail(after: transport.settings.keepMail.nanoseconds)
            observability.log.write(expired.map { .mailExpired($0) })
            if orphans > 0 { observability.log.write([.mailSwept(orphans)]) }
        } catch {
            observability.log.write([.mailFailed(error)])
        }
    }
}
