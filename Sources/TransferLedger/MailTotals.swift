import TransferModel
import TransferPorts
import TransferSystem

/// Number and bytes of the deliveries that wait for each recipient. They are kept in memory because every delivery
/// needs them, and counting takes as long as there are rows.
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

        init(_ sender: String, _ recipient: String) {
            (self.sender, self.recipient) = (PathKey(sender), PathKey(recipient))
        }
    }

    private var recipients: [PathKey: Total] = [:]
    private var pairs: [Pair: Total] = [:]
    /// For each recipient, the total of deliveries that came over wires without keys.
    private var unproven: [PathKey: Total] = [:]
    /// What clients have sent and recipients can still receive, each upload once.
    private var clients: [UInt64: Total] = [:]

    func sent(by client: UInt64) -> Total { clients[client] ?? Total() }

    func total(for recipient: String) -> Total { recipients[PathKey(recipient)] ?? Total() }

    var all: Total {
        recipients.values.reduce(into: Total()) { sum, total in
            sum.count += total.count
            sum.bytes = sum.bytes.addingClamped(total.bytes)
        }
    }

    /// Why one more delivery to a recipient is refused; nil if there is room for it.
    func refusal(_ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits) -> MailRefusal? {
        let box = total(for: recipient)
        // Names without proof cost nothing, so all of them count as one sender.
        let pair =
            (sender.isUnproven ? unproven[PathKey(recipient)] : pairs[Pair(sender.name, recipient)]) ?? Total()
        if box.count >= limits.count || box.bytes.addingClamped(size) > limits.bytes {
            return .full(recipient, limits)
        }
        if pair.count >= limits.countOfPair || pair.bytes.addingClamped(size) > limits.bytesOfPair {
            return sender.isUnproven ? .fullOfUnproven(recipient, limits) : .fullOfYours(recipient, limits)
        }
        return nil
    }

    mutating func add(_ size: UInt64, from sender: MailSender, to recipient: String) {
        recipients[PathKey(recipient), default: Total()].add(size)
        if sender.isUnproven {
            unproven[PathKey(recipient), default: Total()].add(size)
        } else {
            pairs[Pair(sender.name, recipient), default: Total()].add(size)
        }
    }

    mutating func remove(_ size: UInt64, from sender: MailSender, to recipient: String) {
        Self.remove(size, at: PathKey(recipient), from: &recipients)
        if sender.isUnproven {
            Self.remove(size, at: PathKey(recipient), from: &unproven)
        } else {
            Self.remove(size, at: Pair(sender.name, recipient), from: &pairs)
        }
    }

    /// Counts a mail when its first recipient is added.
    ///
    /// - Parameter size: bytes of the sender's quota.
    mutating func open(_ size: UInt64, from client: UInt64?) {
        if let client { clients[client, default: Total()].add(size) }
    }

    /// Removes a mail when its last recipient has received or declined it.
    mutating func close(_ size: UInt64, from client: UInt64?) {
        if let client { Self.remove(size, at: client, from: &clients) }
    }

    private static func remove<Key>(_ size: UInt64, at key: Key, from totals: inout [Key: Total]) {
        totals[key]?.remove(size)
        if totals[key]?.isNothing ?? false { totals[key] = nil }
    }
}
