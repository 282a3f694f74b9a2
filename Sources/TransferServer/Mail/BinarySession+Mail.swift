import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferProtocol

/// Who has come is seen by others, and hears of mail if he wants to.
extension BinarySession {
    func enterMailroom() {
        guard let person = worker.intake.caller.person else { return }
        visitor = person
        intake.mailroom?.enter(person, number)
    }

    func leaveMailroom() {
        guard let visitor else { return }
        intake.mailroom?.leave(visitor, number)
    }

    /// Tells the client of what comes from now on. What came before that, it is told of once: it may have been after the
    /// answer was made.
    func watchMail() {
        guard !isWatching, let mailroom = intake.mailroom, let visitor else { return }
        isWatching = true
        mailroom.watch(visitor, number) { [weak self, loop, bell] in
            if bell.ring() { Task(executorPreference: loop) { await self?.tellOfMail() } }
        }
        Task(executorPreference: loop) { await self.tellOfMail() }
    }

    /// One frame for all that has come since the last one was made.
    private func tellOfMail() async {
        bell.heard()
        hasNews = true
        guard !isTelling, let mailroom = intake.mailroom else { return }
        isTelling = true
        while hasNews, ending == nil {
            hasNews = false
            let newest = await transport.pool.run(for: account) { (try? mailroom.ledger.newestNumber()) ?? 0 }
            if ending == nil { send(.arrived(newest)) }
        }
        isTelling = false
    }
}
