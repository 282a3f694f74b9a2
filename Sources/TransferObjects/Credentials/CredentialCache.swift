internal import TransferModel
internal import TransferSystem

/// The present credentials. One thread renews them before they end, while others go on with the old ones. If that
/// fails, the old ones are used to their end.
///
/// ```
///   none ──fetch──► valid ──margin──► one thread renews, others use the old ones ──► valid
///                                          └─ end passed ─► all wait for one thread ─┘
/// ```
final class CredentialCache: Sendable {
    /// Seconds before the end at which credentials are renewed; the AWS SDKs use five minutes, too.
    static let margin: Int64 = 300

    /// Seconds between attempts to renew credentials that are still valid.
    static let pause: Int64 = 10

    private struct State {
        var credentials: Credentials?
        /// Credentials that the engine has refused, so that they must be renewed.
        var isRejected = false
        var isRenewing = false
        /// Number of attempts to fetch, and the error of the latest one.
        var attempts = 0
        var failure: ObjectError?
        /// When valid credentials may be renewed again after a failure.
        var nextAttempt = UTCTime(clamping: 0)
    }

    private let fetch: @Sendable () throws(ObjectError) -> Credentials
    private let utc: @Sendable () -> UTCTime
    private let monitor = Monitor(State())

    /// - Parameter fetch: fetches credentials; called by one thread at a time.
    init(utc: @escaping @Sendable () -> UTCTime, fetch: @escaping @Sendable () throws(ObjectError) -> Credentials) {
        (self.utc, self.fetch) = (utc, fetch)
    }

    /// Valid credentials.
    ///
    /// - Throws: errors of fetching, if there are no valid ones.
    func current() throws(ObjectError) -> Credentials {
        monitor.lock()
        while true {
            let now = utc()
            let state = monitor.state
            if let valid = Self.valid(state, now), !Self.isDue(state, now) || state.isRenewing {
                monitor.unlock()
                return valid
            }
            guard state.isRenewing else { break }
            // Another thread fetches the first credentials, or new ones for those that have ended.
            while monitor.state.attempts == state.attempts, monitor.state.isRenewing { monitor.wait() }
            guard let failure = monitor.state.failure, Self.valid(monitor.state, utc()) == nil else { continue }
            monitor.unlock()
            throw failure
        }
        monitor.state.isRenewing = true
        monitor.unlock()
        return try renew()
    }

    /// Reports that the engine has refused credentials, for example because they were replaced. The next call fetches
    /// others.
    func reject(_ credentials: Credentials) {
        monitor.withLock {
            if monitor.state.credentials == credentials { monitor.state.isRejected = true }
        }
    }

    private func renew() throws(ObjectError) -> Credentials {
        let result: Result<Credentials, ObjectError>
        do throws(ObjectError) {
            result = .success(try fetch())
        } catch {
            result = .failure(error)
        }
        monitor.lock()
        defer { monitor.unlock() }
        defer { monitor.wakeAll() }
        monitor.state.isRenewing = false
        monitor.state.attempts += 1
        switch result {
        case .success(let credentials):
            monitor.state.credentials = credentials
            (monitor.state.isRejected, monitor.state.failure) = (false, nil)
            // A service may return the same credentials again until shortly before their end.
            monitor.state.nextAttempt = utc().advanced(bySeconds: Self.pause)
            return credentials
        case .failure(let error):
            monitor.state.failure = error
            monitor.state.nextAttempt = utc().advanced(bySeconds: Self.pause)
            guard let old = Self.valid(monitor.state, utc()) else { throw error }
            return old
        }
    }

    /// The credentials, unless they have ended or were refused.
    private static func valid(_ state: State, _ now: UTCTime) -> Credentials? {
        guard let credentials = state.credentials, !state.isRejected else { return nil }
        guard let end = credentials.expires else { return credentials }
        return now < end ? credentials : nil
    }

    /// Whether valid credentials should be renewed now.
    private static func isDue(_ state: State, _ now: UTCTime) -> Bool {
        guard let end = state.credentials?.expires, now >= state.nextAttempt else { return false }
        return now >= end.advanced(bySeconds: -margin)
    }
}
