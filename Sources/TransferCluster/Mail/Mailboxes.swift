import TransferModel
import TransferPorts

/// Decides about mails, from facts, and collects the changes.
struct Mailboxes {
    private(set) var facts: MailFacts
    private(set) var changes: MailChanges

    init(_ facts: MailFacts) { (self.facts, changes) = (facts, MailChanges(after: facts)) }

    func mail(_ id: UploadID) -> Mail? { facts.mails[id]?.mail }

    func deliveries(of id: UploadID) -> [DeliveryRow] { facts.deliveries.filter { $0.id == id } }

    func delivery(of id: UploadID, to recipient: String) -> DeliveryRow? {
        facts.deliveries.first { $0.id == id && $0.recipient.hasSameBytes(as: recipient) }
    }

    /// Why a mailbox takes no more from a sender; nil if it does. Each sender may fill a part of the mailbox, and all
    /// senders without keys count as one.
    func refusal(
        _ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits
    ) -> MailRefusal? {
        var (all, own) = ((count: 0, bytes: UInt64(0)), (count: 0, bytes: UInt64(0)))
        for waiting in facts.waiting where waiting.recipient.hasSameBytes(as: recipient) {
            all = (all.count + waiting.count, all.bytes.addingClamped(waiting.bytes))
            guard waiting.sender.isCounted(with: sender) else { continue }
            own = (own.count + waiting.count, own.bytes.addingClamped(waiting.bytes))
        }
        if all.count >= limits.count || all.bytes.addingClamped(size) > limits.bytes { return .full(recipient, limits) }
        guard own.count >= limits.countOfPair || own.bytes.addingClamped(size) > limits.bytesOfPair else { return nil }
        return sender.isUnproven ? .fullOfUnproven(recipient, limits) : .fullOfYours(recipient, limits)
    }

    /// Puts a mail into the recipients' mailboxes.
    ///
    /// - Parameter isThere: whether there is still content at a path.
    mutating func queue(
        _ mail: Mail, to recipients: [String], _ limits: MailLimits, isThere: (RelativePath) -> Bool
    ) -> QueuedMail {
        let known = self.mail(mail.id)
        let deliveries = deliveries(of: mail.id)
        let found = Dictionary(deliveries.map { (PathKey($0.recipient), $0) }) { first, _ in first }
        var named: Set<PathKey> = []
        let fresh = recipients.filter { name in
            guard named.insert(PathKey(name)).inserted else { return false }
            return found[PathKey(name)].map { $0.state == .declined || $0.state == .expired } ?? true
        }
        let isOpen = deliveries.contains { $0.state.isOpen }
        let isKnown = isOpen || deliveries.contains { $0.state == .delivered }
        if let known, isKnown, !known.mayHaveContent(of: mail) { return .refused(.otherContent) }
        for name in fresh {
            if let refusal = refusal(mail.size, from: mail.from, to: name, limits) { return .refused(refusal) }
        }
        guard !fresh.isEmpty || isOpen else { return .queued(fresh: [], isKept: false, freed: nil) }
        let isGood = known.map { isOpen && $0.digest == mail.digest && !$0.isRotten && isThere($0.path) } ?? false
        if !isGood {
            var sound = mail
            sound.isRotten = false
            put(sound)
        }
        for name in fresh {
            if let ended = found[PathKey(name)] { remove(ended) }
            deliver(mail, to: name)
        }
        return .queued(fresh: fresh, isKept: !isGood, freed: isGood ? nil : known)
    }

    /// Ends a delivery. A delivery that has ended before can get a receipt or another final state.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    mutating func end(
        _ delivery: DeliveryRow, as state: DeliveryState, _ receipt: [UInt8]?, at moment: Int64,
        _ ended: inout EndedDeliveries
    ) {
        guard let mail = mail(delivery.id) else { return }
        var row = delivery
        (row.state, row.changed, row.since) = (state, moment, facts.now)
        if let receipt { row.receipt = receipt }
        set(row)
        ended.deliveries.append(row.delivery(of: mail))
        let isOpen = deliveries(of: delivery.id).contains { $0.state.isOpen }
        if delivery.state.isOpen, !isOpen { ended.freed.append(mail) }
    }

    mutating func put(_ mail: Mail) {
        let row = MailRow(mail, since: facts.now)
        facts.mails[mail.id] = row
        changes.mails[mail.id] = row
    }

    /// Replaces the mail without making it younger.
    mutating func change(_ mail: Mail) {
        guard var row = facts.mails[mail.id] else { return }
        row.mail = mail
        facts.mails[mail.id] = row
        changes.mails[mail.id] = row
    }

    /// Replaces the delivery with the row's number.
    mutating func set(_ row: DeliveryRow) {
        guard let index = facts.deliveries.firstIndex(where: { $0.number == row.number }) else { return }
        facts.deliveries[index] = row
        changes.deliveries[row.number] = row
    }

    private mutating func remove(_ row: DeliveryRow) {
        facts.deliveries.removeAll { $0.number == row.number }
        changes.deliveries[row.number] = nil
        changes.removed.insert(row.number)
    }

    private mutating func deliver(_ mail: Mail, to recipient: String) {
        facts.lastNumber += 1
        let row = DeliveryRow(
            number: facts.lastNumber, id: mail.id, recipient: recipient, state: .queued, changed: mail.queued,
            since: facts.now)
        facts.deliveries.append(row)
        changes.deliveries[row.number] = row
        facts.waiting.append(MailFacts.Waiting(for: recipient, from: mail.from, count: 1, bytes: mail.size))
    }
}

extension MailSender {
    /// Whether the mail of two senders counts together against the limits of a mailbox.
    fileprivate func isCounted(with other: MailSender) -> Bool {
        isUnproven == other.isUnproven && (isUnproven || name.hasSameBytes(as: other.name))
    }
}

extension Mail {
    /// Whether another mail can have the same content, as far as sizes and digests tell.
    fileprivate func mayHaveContent(of other: Mail) -> Bool {
        size == other.size && (digest.algorithm != other.digest.algorithm || digest == other.digest)
    }
}
