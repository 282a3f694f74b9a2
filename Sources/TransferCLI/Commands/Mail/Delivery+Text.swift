internal import TransferClient
internal import TransferKeys
internal import TransferModel
private import TransferReceipts

extension Delivery {
    /// The object of `--json`; every key is always there.
    ///
    /// - Parameters:
    ///   - isSent: whether this user is the sender.
    ///   - signer: the key that has signed the receipt of the delivery; nil without a valid receipt.
    func json(isSent: Bool, signer: PublicKey? = nil) -> JSONLine {
        [
            "schema": .string(JSONSchema.delivery), "delivery": .string(id.description), "number": .integer(number),
            "from": isSent ? .null : .string(person), "to": isSent ? .string(person) : .null,
            "name": .string(shownName),
            "kind": .string(shownKind.name), "size": .integer(shownSize), "digest": .string(digest.description),
            "state": .string(state.name), "queued": .string(Self.time(queued)), "changed": .string(Self.time(changed)),
            "signer": signer.map { .string($0.fingerprint) } ?? .null, "sealed": .bool(isSealed),
            "authenticated": .bool(!isUnproven),
        ]
    }

    /// The name of the sender or recipient, with a note if it is unproven, because a client without a key can claim any
    /// name.
    var personForDisplay: String { person.escapedForDisplay + (isUnproven ? " (without a key)" : "") }

    /// The escaped name, with a note about the seal.
    var nameOrSeal: String {
        guard isSealed else { return name.escapedForDisplay + (isCalledSealed ? " (not signed)" : "") }
        guard let noteFault else { return "\(shownName.escapedForDisplay) (sealed)" }
        return "\(shownName.escapedForDisplay) (sealed: \(noteFault.escapedForDisplay))"
    }

    /// The time in the form of RFC 3339.
    private static func time(_ milliseconds: Int64) -> String {
        ReceiptTime(clamping: UInt64(max(0, milliseconds))).description
    }

    /// The time since a moment, such as `5 min`.
    ///
    /// - Parameter milliseconds: since 1970.
    static func age(_ milliseconds: Int64, now: Timestamp = .now) -> String {
        let seconds = max(0, now.seconds - max(0, milliseconds) / 1000)
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}

extension ReceiveReport {
    /// The line that is printed without `--json`.
    var line: String {
        var text = "\(state == .delivered || state == .declined ? state.name : result.name)  "
        let name = delivery.shownName.escapedForDisplay
        text +=
            path.map { $0.hasSameBytes(as: delivery.shownName) ? name : "\(name) -> \($0.escapedForDisplay)" } ?? name
        guard sender != nil else {
            let doubt = "  \(ByteFormat.size(size)), \(Self.words(unsigned: delivery, seal))"
            return text + doubt + (message.isEmpty ? "" : ": \(message.escapedForDisplay)")
        }
        text += "  from \(delivery.personForDisplay)"
        if result.isSuccess {
            text += "  \(ByteFormat.size(size))\(isSealed ? ", sealed" : "")"
        } else if !message.isEmpty {
            text += ": \(message.escapedForDisplay)"
        }
        return text
    }

    /// The object of `--json`; every key is always there.
    ///
    /// - Parameter place: the path of the stored file; nil if nothing was stored.
    func json(_ place: String?) -> JSONLine {
        [
            "schema": .string(JSONSchema.received), "delivery": .string(delivery.id.description),
            "from": sender.map { .string($0) } ?? .null, "name": .string(delivery.shownName),
            "result": .string(result.name),
            "path": place.map { .string($0) } ?? .null, "kind": .string(delivery.shownKind.name),
            "size": .integer(size), "digest": .string(delivery.digest.description),
            "state": .string(state.name), "resumed": .integer(resumed), "seconds": .double(seconds),
            "message": .string(sender == nil && message.isEmpty ? Self.words(unsigned: delivery, seal) : message),
            "sealed": .bool(isSealed), "seal": seal.map { .string($0.name) } ?? .null,
            "authenticated": .bool(!delivery.isUnproven),
        ]
    }

    /// Whether the delivery was sealed. If its content was received, the content must also be what its sender signed.
    private var isSealed: Bool { path == nil ? delivery.opened != nil : seal == .signed }

    /// The sender; nil if sealed content was received and no signature of the sender was verified.
    private var sender: String? {
        path != nil && delivery.lacksSignature(seal) ? nil : delivery.person
    }

    fileprivate static func words(unsigned delivery: Delivery, _ seal: DeliverySeal?) -> String {
        let person = delivery.person.escapedForDisplay
        return seal == .unsigned
            ? "sealed but not signed, so anyone could have sealed it; the server names \(person) as the sender"
            : "not opened, so its signature was not checked; the server names \(person) as the sender"
    }
}

extension VerifiedDelivery {
    /// A sentence for users if no signature proves who the sender is; nil otherwise.
    var doubt: String? {
        guard delivery.lacksSignature(seal) else { return nil }
        return "\(delivery.shownName.escapedForDisplay) was \(ReceiveReport.words(unsigned: delivery, seal))"
    }
}

extension Delivery {
    /// Whether only the server says who the sender of sealed content is.
    fileprivate func lacksSignature(_ seal: DeliverySeal?) -> Bool {
        seal == .unsigned || seal == .unopened && isSealed
    }
}

extension DeliverySeal {
    /// The value of `seal` in the objects of `--json`.
    fileprivate var name: String {
        switch self {
        case .signed: "signed"
        case .unsigned: "unsigned"
        case .unopened: "unopened"
        }
    }
}
