import TransferAccess
import TransferClassic
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// Lets clients have names that they cannot prove.
struct ChatGuests: Sendable {
    let mailroom: Mailroom

    /// What is said to clients, in the words of their framing.
    let chat: any ClassicChat.Type

    /// Names of people in the lists who may also come over this wire, because the server's operator says so.
    let people: [String]

    let grant: Grant
    let scope: UploadScope
    let peer: String

    /// - Returns: nothing for clients of a framing without names, or where there are no mailboxes.
    init?(_ listener: ClassicListener, _ scope: UploadScope?, peer: String, _ mailroom: Mailroom?) {
        guard let chat = listener.framing.chat, let scope, let mailroom else { return nil }
        (self.mailroom, self.chat) = (mailroom, chat)
        (people, grant) = (listener.people, listener.grant)
        (self.scope, self.peer) = (scope, peer)
    }

    /// Gives a client its name, with the mailbox that belongs to it. Waits for the disk where the name is new.
    ///
    /// - Throws: `forbidden` for a name that it cannot have; `storageFailed`.
    func admit(_ name: String) throws(Failure) -> Caller {
        if let reason = Self.fault(of: name, server: chat.server) { throw Failure(.forbidden, reason) }
        guard mailroom.isTaken(name) else {
            try register(name)
            return Caller(grant, scope, peer: peer, person: name)
        }
        guard isAllowed(name) else { throw .nameTaken(name) }
        return Caller(grant, scope, peer: peer, person: name)
    }

    private func register(_ name: String) throws(Failure) {
        let refusal: MailRefusal?
        do throws(RecordsError) {
            refusal = try mailroom.takeUnproven(name)
        } catch {
            throw Failure(mail: error)
        }
        switch refusal {
        case nil: break
        // Since it was looked for.
        case .unknown: throw .nameTaken(name)
        case .some(let refusal): throw Failure(refusal)
        }
    }

    /// Why nobody can be called that; nothing for a name that somebody can have.
    ///
    /// What is written down under it is shown to others, and may become a part of the name of a file there. So it has nothing
    /// that cannot be seen: two names that look the same would be taken for one.
    ///
    /// - Parameter server: what the server calls itself.
    static func fault(of name: String, server: String) -> String? {
        let shown = name.escapedForDisplay
        let bytes = name.utf8
        guard !bytes.isEmpty, bytes.count <= ClassicLimits.client, shown.hasSameBytes(as: name),
            !bytes.contains(UInt8(ascii: "/")), bytes.first != UInt8(ascii: " "), bytes.last != UInt8(ascii: " "),
            name.unicodeScalars.allSatisfy(\.isSeen), ![".", ".."].contains(where: { $0.hasSameBytes(as: name) })
        else { return "'\(shown)' cannot be the name of a client." }
        guard !name.lowercased().hasSameBytes(as: server.lowercased()) else {
            return "'\(shown)' is what the server calls itself."
        }
        return nil
    }

    /// Whether one that has the name may keep it: somebody may have got a key for it meanwhile.
    func mayKeep(_ name: String) -> Bool { isAllowed(name) || !mailroom.isTaken(name) }

    private func isAllowed(_ name: String) -> Bool { people.contains { $0.hasSameBytes(as: name) } }
}

extension Unicode.Scalar {
    /// Whether it takes part in what is seen, as far as Unicode tells; of spaces, only the usual one does.
    fileprivate var isSeen: Bool {
        guard !properties.isDefaultIgnorableCodePoint, !properties.isWhitespace || self == " " else { return false }
        return switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}

extension Failure {
    static func nameTaken(_ name: String) -> Failure {
        Failure(
            .forbidden,
            "'\(name.escapedForDisplay)' is somebody's who has a key here: on this wire, which knows no keys, nobody can come "
                + "under that name, unless the server's operator allows it (people=).")
    }
}

/// Who of the clients without keys is here, over all listeners: a name has one connection, that which came last.
final class ChatNames: Sendable {
    private struct Guest {
        let connection: Int
        /// Called from any thread.
        let displace: @Sendable () -> Void
    }

    private struct State {
        var guests: [PathKey: Guest] = [:]
        /// Numbers of deliveries that were found not to be for this wire.
        var unfit: Set<UInt64> = []
    }

    /// Deliveries that are remembered not to fit. Beyond that they are looked at, and logged, once more.
    static let mostUnfit = 4096

    private let state = Locked(State())

    /// Somebody has come. Whoever had the name is told to go.
    func enter(_ name: String, _ connection: Int, displace: @escaping @Sendable () -> Void) {
        let older = state.withLock {
            $0.guests.updateValue(Guest(connection: connection, displace: displace), forKey: PathKey(name))
        }
        if let older, older.connection != connection { older.displace() }
    }

    func leave(_ name: String, _ connection: Int) {
        state.withLock { state in
            guard state.guests[PathKey(name)]?.connection == connection else { return }
            state.guests[PathKey(name)] = nil
        }
    }

    /// A delivery cannot go over this wire.
    ///
    /// - Parameter number: of the delivery.
    /// - Returns: whether that is news.
    func noteUnfit(_ number: UInt64) -> Bool {
        state.withLock { state in
            if state.unfit.count >= Self.mostUnfit { state.unfit = [] }
            return state.unfit.insert(number).inserted
        }
    }

    func isUnfit(_ number: UInt64) -> Bool { state.withLock { $0.unfit.contains(number) } }
}

extension LogEvent {
    /// All of a message was given to a connection.
    static func handedOn(_ delivery: Delivery, peer: String) -> LogEvent {
        LogEvent(
            .debug, "handedOn",
            "sent \(delivery.mail.name.escapedForDisplay) from \(delivery.mail.sender.escapedForDisplay) to "
                + "\(delivery.recipient.escapedForDisplay), \(delivery.mail.size) bytes",
            fields(of: delivery) + [("peer", .string(peer))])
    }

    /// Something waits for a client whose framing cannot carry it.
    static func unfit(_ delivery: Delivery) -> LogEvent {
        let mail = delivery.mail
        let what = mail.note == nil ? "a \(mail.kind.name) of \(mail.size) bytes" : "a sealed upload"
        return LogEvent(
            .warning, "unfit",
            "\(mail.name.escapedForDisplay) for \(delivery.recipient.escapedForDisplay) is \(what), which the client's framing "
                + "cannot carry: it waits for somebody with that name who uses transfer receive",
            fields(of: delivery))
    }

    /// What waits for a client cannot be read.
    static func notHandedOn(_ delivery: Delivery, _ error: Failure) -> LogEvent {
        LogEvent(
            .error, "notHandedOn",
            "\(delivery.mail.name.escapedForDisplay) for \(delivery.recipient.escapedForDisplay) cannot be sent: \(error.message)",
            fields(of: delivery) + [("result", .string(error.code.name)), ("message", .string(error.message))])
    }
}
