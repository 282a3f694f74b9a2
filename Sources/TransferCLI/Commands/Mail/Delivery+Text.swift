internal import TransferClient
internal import TransferKeys
internal import TransferModel
private import TransferReceipts

extension Delivery {
    /// The object of `--json`; every key is always there.
    ///
    /// - Parameters:
    ///   - isSent: whether this user has sent it.
    ///   - signer: who has signed that it is delivered.
    func json(isSent: Bool, signer: PublicKey? = nil) -> JSONLine {
        [
            "schema": .string(JSONSchema.delivery), "delivery": .string(id.description), "number": .integer(number),
            "from": isSent ? .null : .string(person), "to": isSent ? .string(person) : .null,
            "name": .string(shownName),
            "kind": .string(shownKind.name), "size": .integer(shownSize), "digest": .string(digest.description),
            "state": .string(state.name), "queued": .string(Self.time(queued)), "changed": .string(Self.time(changed)),
            "signer": signer.map { .string($0.fingerprint) } ?? .null, "sealed": .bool(isSealed),
            "proven": .bool(!isUnproven),
        ]
    }

    /// Who it is from, or for. Whoever came without a key may be anybody, whatever name was said.
    var personForDisplay: String { person.escapedForDisplay + (isUnproven ? " (without a key)" : "") }

    /// The name for people, and what there is to say of a seal.
    var nameOrSeal: String {
        guard isSealed else { return name.escapedForDisplay }
        guard let noteFault else { return "\(shownName.escapedForDisplay) (sealed)" }
        return "\(shownName.escapedForDisplay) (sealed: \(noteFault.escapedForDisplay))"
    }

    /// As in RFC 3339.
    private static func time(_ milliseconds: Int64) -> String {
        ReceiptTime(clamping: UInt64(max(0, milliseconds))).description
    }

    /// How long ago something was, in a word.
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
    /// One line for people.
    var line: String {
        var text = "\(state == .delivered || state == .declined ? state.name : result.name)  "
        let name = delivery.shownName.escapedForDisplay
        text +=
            path.map { $0.hasSameBytes(as: delivery.shownName) ? name : "\(name) -> \($0.escapedForDisplay)" } ?? name
        text += "  from \(delivery.personForDisplay)"
        if result.isSuccess {
            text += "  \(ByteFormat.size(size))\(delivery.isSealed ? ", sealed" : "")"
        } else if !message.isEmpty {
            text += ": \(message.escapedForDisplay)"
        }
        return text
    }

    /// The object of `--json`; every key is always there.
    ///
    /// - Parameter place: where the file is; nothing where there is none.
    func json(_ place: String?) -> JSONLine {
        [
            "schema": .string(JSONSchema.received), "delivery": .string(delivery.id.description),
            "from": .string(delivery.person), "name": .string(delivery.shownName), "result": .string(result.name),
            "path": place.map { .string($0) } ?? .null, "kind": .string(delivery.shownKind.name),
            "size": .integer(size), "digest": .string(delivery.digest.description),
            "state": .string(state.name), "resumed": .integer(resumed), "seconds": .double(seconds),
            "message": .string(message), "sealed": .bool(delivery.isSealed),
            "proven": .bool(!delivery.isUnproven),
        ]
    }
}
