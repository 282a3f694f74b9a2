import TransferModel
import TransferPorts
import TransferSystem

/// The state that records of mail in memory keep from one server to the next. Safe to use from any thread.
package final class MemoryMailboxes: Sendable {
    struct State: Sendable {
        var mails: [UploadID: StoredMail] = [:]
        /// The deliveries, in the order of their numbers.
        var deliveries: [StoredDelivery] = []
        /// The largest number of any delivery so far.
        var lastNumber: UInt64 = 0
        var people: [PathKey: StoredPerson] = [:]
        /// The number of times that any person was entered.
        var peopleKept = 0
        /// The time of the records' clock when it was last saved.
        var now: Int64 = 0
    }

    struct StoredMail: Sendable {
        var mail: Mail
        /// When the mail was stored, by the clock of the records.
        var since: Int64
    }

    struct StoredDelivery: Sendable {
        let number: UInt64
        let id: UploadID
        let recipient: String
        var state: DeliveryState
        /// When the state was reached; UTC, in nanoseconds since 1970.
        var changed: Int64
        var receipt: [UInt8]?
        /// When the state was reached, by the clock of the records.
        var since: Int64
    }

    struct StoredPerson: Sendable {
        let person: KnownPerson
        /// When the person was last entered; UTC, in nanoseconds since 1970.
        let seen: Int64
        /// Larger for a person who was entered later.
        let order: Int
    }

    let state = Locked(State())

    package init() {}
}

// MARK: Looking

extension MemoryMailboxes.State {
    /// The deliveries that match, each with its mail, in the order of their numbers.
    func all(
        after number: UInt64 = 0, limit: Int = .max, _ matches: (MemoryMailboxes.StoredDelivery, Mail) -> Bool
    ) -> [Delivery] {
        var found: [Delivery] = []
        for delivery in deliveries[position(behind: number)...] {
            guard found.count < limit else { break }
            guard let mail = mails[delivery.id]?.mail, matches(delivery, mail) else { continue }
            found.append(delivery.with(mail))
        }
        return found
    }

    func deliveries(of id: UploadID) -> [Delivery] {
        guard let mail = mails[id]?.mail else { return [] }
        return deliveries.filter { $0.id == id }.map { $0.with(mail) }
    }

    func delivery(of id: UploadID, to recipient: String) -> Delivery? {
        deliveries(of: id).first { $0.recipient.hasSameBytes(as: recipient) }
    }

    /// Whether a mail has a delivery that is still open.
    func isOpen(_ id: UploadID) -> Bool { deliveries.contains { $0.id == id && $0.state.isOpen } }

    /// Counts the open deliveries to one person, or to all if `recipient` is nil, from the senders that match.
    func waiting(for recipient: String?, from matches: (MailSender) -> Bool = { _ in true }) -> (
        count: Int, bytes: UInt64
    ) {
        var total: (count: Int, bytes: UInt64) = (0, 0)
        for delivery in deliveries where delivery.state.isOpen {
            guard recipient.map(delivery.recipient.hasSameBytes) ?? true, let mail = mails[delivery.id]?.mail,
                matches(mail.from)
            else { continue }
            total = (total.count + 1, total.bytes.addingClamped(mail.size))
        }
        return total
    }

    /// Why a mailbox refuses one more delivery; nil if it accepts the delivery. Each sender may fill a part of the
    /// mailbox, and all senders without keys count as one.
    func refusal(
        _ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits
    ) -> MailRefusal? {
        let all = waiting(for: recipient)
        if all.count >= limits.count || all.bytes.addingClamped(size) > limits.bytes { return .full(recipient, limits) }
        let own = waiting(for: recipient) { other in
            other.isUnproven == sender.isUnproven && (sender.isUnproven || other.name.hasSameBytes(as: sender.name))
        }
        guard own.count >= limits.countOfPair || own.bytes.addingClamped(size) > limits.bytesOfPair else { return nil }
        return sender.isUnproven ? .fullOfUnproven(recipient, limits) : .fullOfYours(recipient, limits)
    }

    /// The position of the delivery with a number; nil if it does not exist.
    func index(of number: UInt64) -> Int? {
        guard number > 0 else { return nil }
        let index = position(behind: number - 1)
        return index < deliveries.count && deliveries[index].number == number ? index : nil
    }

    /// The position of the first delivery with a larger number; the end if no number is larger.
    private func position(behind number: UInt64) -> Int { deliveries.firstIndex(behind: { $0.number <= number }) }
}

extension MemoryMailboxes.StoredDelivery {
    func with(_ mail: Mail) -> Delivery {
        Delivery(number: number, mail: mail, recipient: recipient, state: state, changed: changed, receipt: receipt)
    }
}

// MARK: Changing

extension MemoryMailboxes.State {
    /// Puts a mail into the recipients' mailboxes.
    ///
    /// - Parameters:
    ///   - now: the time, by the clock of the records.
    ///   - isThere: whether there is still content at a path.
    mutating func queue(
        _ mail: Mail, to recipients: [String], _ limits: MailLimits, at now: Int64, isThere: (RelativePath) -> Bool
    ) -> QueuedMail {
        let known = mails[mail.id]?.mail
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
            mails[mail.id] = MemoryMailboxes.StoredMail(mail: sound, since: now)
        }
        for name in fresh {
            if let index = found[PathKey(name)].flatMap({ index(of: $0.number) }) { self.deliveries.remove(at: index) }
            lastNumber += 1
            self.deliveries.append(
                MemoryMailboxes.StoredDelivery(
                    number: lastNumber, id: mail.id, recipient: name, state: .queued, changed: mail.queued, since: now))
        }
        return .queued(fresh: fresh, isKept: !isGood, freed: isGood ? nil : known)
    }

    /// Ends a delivery. A delivery that has ended before can get a receipt or another final state.
    ///
    /// - Parameters:
    ///   - moment: the time; UTC, in nanoseconds since 1970.
    ///   - now: the time, by the clock of the records.
    mutating func end(
        _ delivery: Delivery, as newState: DeliveryState, _ receipt: [UInt8]?, at moment: Int64, _ now: Int64,
        _ ended: inout EndedDeliveries
    ) {
        guard let index = index(of: delivery.number) else { return }
        let wasOpen = deliveries[index].state.isOpen
        deliveries[index].state = newState
        deliveries[index].changed = moment
        deliveries[index].since = now
        if let receipt { deliveries[index].receipt = receipt }
        ended.deliveries.append(deliveries[index].with(delivery.mail))
        if wasOpen, !isOpen(delivery.mail.id) { ended.freed.append(delivery.mail) }
    }

    /// Forgets mails that were stored before a moment of the clock of the records, and whose deliveries have all ended
    /// before it.
    mutating func forget(before moment: Int64) {
        let kept = Set(deliveries.lazy.filter { $0.state.isOpen || $0.since >= moment }.map(\.id))
        mails = mails.filter { kept.contains($0.key) || $0.value.since >= moment }
        deliveries.removeAll { mails[$0.id] == nil }
    }
}

extension Mail {
    /// Whether another mail can have the same content, as far as sizes and digests tell.
    fileprivate func mayHaveContent(of other: Mail) -> Bool {
        size == other.size && (digest.algorithm != other.digest.algorithm || digest == other.digest)
    }
}

extension Array {
    /// The position of the first element for which `isBefore` is false, by bisection. All elements before it have to be
    /// those for which `isBefore` is true.
    func firstIndex(behind isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
