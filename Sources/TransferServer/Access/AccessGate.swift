import TransferAccess
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Decides which clients may come in, and whether they still may, by lists that change while the server runs.
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

    /// Looks at the link that a browser shows, without using it up.
    func link(_ secret: String, _ credentials: Credentials) throws(Refusal) -> AccessToken {
        defer { logFaults() }
        return try authenticator.link(secret, credentials, at: .now, .now)
    }

    /// Begins the session of a browser, and uses its link up.
    func beginSession(
        _ secret: String, _ credentials: Credentials
    ) throws(Refusal) -> (secret: AccessSecret, session: AccessToken) {
        defer { logFaults() }
        return try authenticator.beginSession(secret, credentials, at: .now, .now)
    }

    /// - Returns: whether there was such a session.
    func endSession(_ id: String) throws(AccessFault) -> Bool { try authenticator.endSession(id) }

    /// Asks whether a client may still come in, and renews what it may do.
    ///
    /// - Returns: why it may begin nothing any more.
    func recheck(_ caller: inout Caller) -> Refusal? {
        defer { logFaults() }
        do throws(Refusal) {
            caller.renew(try authenticator.recheck(caller.grant, at: .now))
            return nil
        } catch {
            return error
        }
    }

    /// Who is in the lists and has a mailbox.
    var listed: [AccessPerson] { authenticator.people(at: .now) }

    /// - Returns: nothing for a name that nobody has, or not any more.
    func listed(_ name: String) -> AccessPerson? { authenticator.person(name, at: .now) }

    /// Whether anybody in the lists has the name.
    func hasLine(for name: String) -> Bool { authenticator.hasLine(for: name) }

    /// Has names kept from clients that choose their own.
    func reserve(_ isReserved: @escaping @Sendable (String) -> Bool) { authenticator.reserve(isReserved) }

    /// Whether all of the lists could be read.
    var hasWholeLists: Bool { authenticator.isComplete }

    /// Says what is wrong with the lists of who may come in.
    private func logFaults() {
        let faults = authenticator.takeFaults()
        if !faults.isEmpty { log.write(faults.map { .accessFault($0) }) }
    }
}

/// When one connection last asked what its client may do. What the client begins is always asked about; what is under way is asked
/// about again when the answer has become old.
struct AccessRecheck {
    /// Nanoseconds after which an answer is old: an access that was taken back ends what is under way within as much.
    private static let holds: Int64 = 100_000_000

    private let gate: AccessGate?
    private var asked: Int64 = 0

    /// - Parameter gate: nil where everybody may come in.
    init(_ gate: AccessGate?) { self.gate = gate }

    var isDue: Bool { monotonicNanoseconds() - asked >= Self.holds }

    /// Asks now, and renews what the client may do.
    ///
    /// - Returns: why the client may begin nothing any more.
    mutating func ask(_ caller: inout Caller) -> Refusal? {
        asked = monotonicNanoseconds()
        return gate?.recheck(&caller)
    }
}
