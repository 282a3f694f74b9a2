import TransferAccess
import TransferClassic
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// Admits clients under names that they cannot prove. Each connection of a framing with names has its own `ChatGuests`.
struct ChatGuests: Sendable {
    let mailroom: Mailroom

    /// The framing, which encodes messages to clients.
    let chat: any ClassicChat.Type

    /// Names from the lists of keys and tokens that may be used here, because the operator allows it.
    let people: [String]

    let grant: Grant
    let scope: UploadScope
    let peer: String

    /// - Returns: nil for a framing without names, or if there are no mailboxes.
    init?(_ listener: ClassicListener, _ scope: UploadScope?, peer: String, _ mailroom: Mailroom?) {
        guard let chat = listener.framing.chat, let scope, let mailroom else { return nil }
        (self.mailroom, self.chat) = (mailroom, chat)
        (people, grant) = (listener.people, listener.grant)
        (self.scope, self.peer) = (scope, peer)
    }

    /// Admits a client under a name, with the mailbox of that name. Waits for the disk if the name is new.
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
        // The name was taken after the check in `admit`.
        case .unknown: throw .nameTaken(name)
        case .some(let refusal): throw Failure(refusal)
        }
    }

    /// Why no client can have the name; nil if one can.
    ///
    /// Other clients see the name of a sender, and can use it in names of files on their machines. A name with invisible characters is
    /// refused, because two names that look the same would be confused.
    ///
    /// - Parameter server: the name that the server uses for itself.
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

    /// Whether an admitted client may keep its name. In the meantime, the operator can have given another client a key for that name.
    func mayKeep(_ name: String) -> Bool { isAllowed(name) || !mailroom.isTaken(name) }

    private func isAllowed(_ name: String) -> Bool { people.contains { $0.hasSameBytes(as: name) } }
}

extension Unicode.Scalar {
    /// Whether the character is visible, as far as Unicode says; the usual space counts as visible.
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
            "'\(name.escapedForDisplay)' is the name of a user with a key. This protocol has no keys, "
                + "so a client cannot use that name unless the server's operator allows it (people=).")
    }
}

/// The clients without keys that are connected, over all listeners. A name has one connection, the newest.
final class ChatNames: Sendable {
    private struct Guest {
        let connection: Int
        /// Ends the connection; may be called from any thread.
        let displace: @Sendable () -> Void
    }

    private struct State {
        var guests: [PathKey: Guest] = [:]
        /// Numbers of deliveries that this wire cannot carry.
        var unfit: Set<UInt64> = []
    }

    /// Most deliveries in `unfit`. When there are more, the set is emptied, and deliveries that were in it are examined and logged again.
    static let mostUnfit = 4096

    private let state = Locked(State())

    /// Notes a client's connection, and ends the older connection with the same name.
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

    /// Notes that this wire cannot carry a delivery.
    ///
    /// - Parameter number: of the delivery.
    /// - Returns: whether it was not known before.
    func noteUnfit(_ number: UInt64) -> Bool {
        state.withLock { state in
            if state.unfit.count >= Self.mostUnfit { state.unfit = [] }
            return state.unfit.insert(number).inserted
        }
    }

    func isUnfit(_ number: UInt64) -> Bool { state.withLock { $0.unfit.contains(number) } }
}

extension LogEvent {
    /// A complete message was handed to a connection.
    static func handedOn(_ delivery: Delivery, peer: String) -> LogEvent {
        LogEvent(
            .debug, "handedOn",
            "sent \(delivery.mail.name.escapedForDisplay) from \(delivery.mail.sender.escapedForDisplay) to "
                + "\(delivery.recipient.escapedForDisplay), \(delivery.mail.size) bytes",
            fields(of: delivery) + [("peer", .string(peer))])
    }

    /// A delivery waits for a client whose framing cannot carry it.
    static func unfit(_ delivery: Delivery) -> LogEvent {
        let mail = delivery.mail
        let what = mail.note == nil ? "a \(mail.kind.name) of \(mail.size) bytes" : "a sealed upload"
        return LogEvent(
            .warning, "unfit",
            "\(mail.name.escapedForDisplay) for \(delivery.recipient.escapedForDisplay) is \(what), "
                + "which the client's framing cannot carry: it waits until a user with that name runs transfer receive",
            fields(of: delivery))
    }

    /// The content of a client's delivery cannot be read.
    static func notHandedOn(_ delivery: Delivery, _ error: Failure) -> LogEvent {
        LogEvent(
            .error, "notHandedOn",
            "\(delivery.mail.name.escapedForDisplay) for \(delivery.recipient.escapedForDisplay) cannot be sent: \(error.message)",
            fields(of: delivery) + [("result", .string(error.code.name)), ("message", .string(error.message))])
    }
}
