import TransferModel
import TransferSystem

/// What waits for whom, counted: a mailbox is asked about with every delivery, and counting its rows takes as long as it has
/// rows.
struct MailTotals: Sendable {
    struct Total: Equatable, Sendable {
        var count = 0
        var bytes: UInt64 = 0

        var isNothing: Bool { count == 0 }

        mutating func add(_ size: UInt64) {
            count += 1
            bytes = bytes.addingClamped(size)
        }

        mutating func remove(_ size: UInt64) {
            count -= 1
            bytes -= min(bytes, size)
        }
    }

    private struct Pair: Hashable {
        let sender: PathKey
        let recipient: PathKey
    }

    private var recipients: [PathKey: Total] = [:]
    private var pairs: [Pair: Total] = [:]

    func total(for recipient: String) -> Total { recipients[PathKey(recipient)] ?? Total() }

    var all: Total {
        recipients.values.reduce(into: Total()) { sum, total in
            sum.count += total.count
            sum.bytes = sum.bytes.addingClamped(total.bytes)
        }
    }

    /// Why a delivery would be one too many.
    func refusal(_ size: UInt64, from sender: String, to recipient: String, _ limits: MailLimits) -> MailRefusal? {
        let box = total(for: recipient)
        let pair = pairs[Pair(sender: PathKey(sender), recipient: PathKey(recipient))] ?? Total()
        if box.count >= limits.count || box.bytes.addingClamped(size) > limits.bytes {
            return .full(recipient, limits.bytes)
        }
        if pair.count >= limits.countOfPair || pair.bytes.addingClamped(size) > limits.bytesOfPair {
            return .fullOfYours(recipient, limits.bytesOfPair)
        }
        return nil
    }

    mutating func add(_ size: UInt64, from sender: String, to recipient: String) {
        recipients[PathKey(recipient), default: Total()].add(size)
        pairs[Pair(sender: PathKey(sender), recipient: PathKey(recipient)), default: Total()].add(size)
    }

    mutating func remove(_ size: UInt64, from sender: String, to recipient: String) {
        let (name, pair) = (PathKey(recipient), Pair(sender: PathKey(sender), recipient: PathKey(recipient)))
        recipients[name]?.remove(size)
        pairs[pair]?.remove(size)
        if recipients[name]?.isNothing ?? false { recipients[name] = nil }
        if pairs[pair]?.isNothing ?? false { pairs[pair] = nil }
    }
}

/// Why an upload is not taken for somebody.
package enum MailRefusal: Error, Equatable, Sendable {
    /// Nobody of that name has a mailbox.
    case unknown(String)
    /// This person takes nothing from the sender.
    case declines(String)
    /// The mailbox holds as much as it may, in bytes.
    case full(String, UInt64)
    /// It holds as much from this sender as it may, in bytes.
    case fullOfYours(String, UInt64)
    /// The sender has no name.
    case noName
    /// The server keeps no mailboxes, or cannot for now.
    case unavailable(String)
}
