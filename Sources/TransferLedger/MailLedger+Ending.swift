import TransferDatabase
package import TransferModel
package import TransferPorts

extension MailLedger {
    /// All of some deliveries has been sent to their recipient, who has not said that it is safe. Nothing depends on it, so it
    /// is not synced.
    ///
    /// - Parameter deliveries: as the ledger has told of them.
    /// - Returns: those of which that is news.
    package func fetched(_ deliveries: [Delivery], at moment: Int64) throws(RecordsError) -> [Delivery] {
        try write(isSynced: false) { (connection, _) throws(RecordsError) in
            var news: [Delivery] = []
            for delivery in deliveries where delivery.state == .queued {
                if try connection.fetched(delivery.number, at: moment) { news.append(delivery) }
            }
            return news
        }
    }

    /// What somebody waits for is no longer what was acknowledged. It waits on: whoever brings the same upload again mends it.
    package func noteRotten(_ id: UploadID) throws(RecordsError) {
        try write { (connection, _) throws(RecordsError) in try connection.noteRotten(id) }
    }

    /// A recipient has received uploads, or doesn't want them: all of it is written down, or nothing. What is said again
    /// changes nothing. What somebody says to have received he has, whatever was said before.
    ///
    /// - Parameters:
    ///   - state: `delivered` or `declined`.
    ///   - receipts: makes of the deliveries, in the order of `ids`, what the recipient has signed of each; nothing where the
    ///     signature is of something else. Asked with the ledger held, so that it is of what is written down.
    package func settle(
        _ ids: [UploadID], by recipient: String, as state: DeliveryState, at moment: Int64,
        receipts: (([Delivery]) -> [[UInt8]]?)? = nil
    ) throws(RecordsError) -> SettledMail {
        try write { (connection, totals) throws(RecordsError) in
            var found: [Delivery] = []
            for id in ids {
                guard let delivery = try connection.delivery(of: id, to: recipient) else { return .notForYou }
                found.append(delivery)
            }
            var signed: [[UInt8]]?
            if let receipts {
                signed = receipts(found)
                guard signed?.count == found.count else { return .badSignature }
            }
            var ended = EndedDeliveries()
            for (index, delivery) in found.enumerated() {
                let receipt = signed?[index]
                let isNews = state == .delivered ? delivery.state != .delivered : delivery.state.isOpen
                guard isNews || (state == .delivered && delivery.receipt == nil && receipt != nil) else { continue }
                try Self.end(delivery, as: state, receipt, at: moment, connection, &totals, &ended)
            }
            return .ended(ended)
        }
    }

    /// Ends what has waited for longer than that, some of it.
    ///
    /// - Parameters:
    ///   - age: nanoseconds by the ledger's own clock.
    ///   - now: UTC, in nanoseconds since 1970.
    package func expire(
        after age: Int64, at now: Int64, limit: Int = 1000
    ) throws(RecordsError) -> EndedDeliveries {
        let overdue = try read { (connection) throws(RecordsError) in
            try connection.overdue(before: connection.now.subtractingClamped(age), limit: limit)
        }
        guard !overdue.isEmpty else { return EndedDeliveries() }
        return try write { (connection, totals) throws(RecordsError) in
            var ended = EndedDeliveries()
            for delivery in overdue {
                let found = try connection.delivery(of: delivery.mail.id, to: delivery.recipient)
                guard let found, found.state.isOpen, found.number == delivery.number else { continue }
                try Self.end(found, as: .expired, nil, at: now, connection, &totals, &ended)
            }
            return ended
        }
    }

    /// Forgets mails that ended longer ago than that, and writes down what the ledger's clock says. Whoever sends one of them
    /// again sends it anew.
    ///
    /// - Parameter age: nanoseconds by the ledger's own clock.
    package func forget(endedBefore age: Int64) throws(RecordsError) {
        try write { (connection, _) throws(RecordsError) in try connection.keepTime() }
        var isMore = true
        while isMore {
            isMore = try write { (connection, _) throws(RecordsError) in
                try connection.forget(endedBefore: connection.now.subtractingClamped(age))
            }
        }
    }

    private static func end(
        _ delivery: Delivery, as state: DeliveryState, _ receipt: [UInt8]?, at moment: Int64,
        _ connection: MailConnection, _ totals: inout MailTotals, _ ended: inout EndedDeliveries
    ) throws(RecordsError) {
        try connection.set(state, of: delivery.number, at: moment, receipt: receipt)
        var changed = delivery
        (changed.state, changed.changed) = (state, moment)
        changed.receipt = receipt ?? delivery.receipt
        ended.deliveries.append(changed)
        guard delivery.state.isOpen else { return }
        totals.remove(delivery.mail.size, from: delivery.mail.from, to: delivery.recipient)
        guard try !connection.isMailOpen(of: delivery.number) else { return }
        totals.close(delivery.mail.cost, from: delivery.mail.client)
        ended.freed.append(delivery.mail)
    }
}

extension Int64 {
    /// An age can be any number at all; a moment that no clock has reached is before everything.
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
