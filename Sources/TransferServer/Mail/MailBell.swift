import Synchronization

/// Whether news of mail is on its way to a session, so that a thousand of them at once make one call.
final class MailBell: Sendable {
    private let isRinging = Atomic(false)

    /// - Returns: whether the session is to be told.
    func ring() -> Bool { !isRinging.exchange(true, ordering: .acquiringAndReleasing) }

    func heard() { isRinging.store(false, ordering: .releasing) }
}
