import TransferAccess
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Decides which clients may connect, and whether they still may, by lists that can change while the server runs.
final class AccessGate: Sendable {
    private let authenticator: Authenticator
    private let log: Log

    private let refusals: ResultCounters

    init(_ authenticator: Authenticator, log: Log, _ refusals: ResultCounters) {
        (self.authenticator, self.log, self.refusals) = (authenticator, log, refusals)
    }

    func authenticate(_ credentials: Credentials) throws(Refusal) -> Admission {
        defer { logFaults() }
        do throws(Refusal) {
            return try authenticator.authenticate(credentials, at: .now, .now)
        } catch {
            refusals.add(error.code)
            throw error
        }
    }

    /// Checks the sign-in link that a browser shows, without using it up.
    func link(_ secret: String, _ credentials: Credentials) throws(Refusal) -> AccessToken {
        defer { logFaults() }
        return try authenticator.link(secret, credentials, at: .now, .now)
    }

    /// Begins the session of a browser, and uses its sign-in link up.
    func beginSession(
        _ secret: String, _ credentials: Credentials
    ) throws(Refusal) -> (secret: AccessSecret, session: AccessToken) {
        defer { logFaults() }
        return try authenticator.beginSession(secret, credentials, at: .now, .now)
    }

    /// - Returns: whether the session existed.
    func endSession(_ id: String) throws(AccessFault) -> Bool { try authenticator.endSession(id) }

    /// Rechecks whether a client may still connect, and renews its rights.
    ///
    /// - Returns: why the client may begin nothing any more; nil if it may.
    func recheck(_ caller: inout Caller) -> Refusal? {
        defer { logFaults() }
        do throws(Refusal) {
            caller.renew(try authenticator.recheck(caller.grant, at: .now))
            return nil
        } catch {
            return error
        }
    }

    /// The people in the lists who have mailboxes.
    var listed: [AccessPerson] { authenticator.people(at: .now) }

    /// - Returns: nil if no person in the lists has the name now.
    func listed(_ name: String) -> AccessPerson? { authenticator.person(name, at: .now) }

    /// Whether any line of the lists has the name.
    func hasLine(for name: String) -> Bool { authenticator.hasLine(for: name) }

    /// Reserves names, so that clients that choose their own name cannot have them.
    func reserve(_ isReserved: @escaping @Sendable (String) -> Bool) { authenticator.reserve(isReserved) }

    /// Whether all of the lists could be read.
    var hasWholeLists: Bool { authenticator.isComplete }

    /// Logs what is wrong with the lists of keys and tokens.
    private func logFaults() {
        let faults = authenticator.takeFaults()
        if !faults.isEmpty { log.write(faults.map { .accessListFailed($0) }) }
    }
}

/// Decides when one connection has to recheck its client's rights: before everything that the client begins, and again during an upload
/// when the last answer is old.
struct AccessRecheck {
    /// Nanoseconds for which an answer is valid: after access was taken back, running uploads end within this time.
    private static let holds: Int64 = 100_000_000

    private let gate: AccessGate?
    private var asked: Int64 = 0

    /// - Parameter gate: nil if every client may connect.
    init(_ gate: AccessGate?) { self.gate = gate }

    var isDue: Bool { monotonicNanoseconds() - asked >= Self.holds }

    /// Rechecks now, and renews the client's rights.
    ///
    /// - Returns: why the client may begin nothing any more; nil if it may.
    mutating func ask(_ caller: inout Caller) -> Refusal? {
        asked = monotonicNanoseconds()
        return gate?.recheck(&caller)
    }
}
