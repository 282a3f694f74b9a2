import TransferDatabase
package import TransferModel
package import TransferPorts

extension MailLedger {
    /// Notes that deliveries were sent to their recipient completely, although the recipient has not confirmed that
    /// they are stored safely. Nothing depends on this note, so it is not synced.
    ///
    /// - Parameter deliveries: deliveries as the ledger has returned them.
    /// - Returns: the deliveries that were not noted before.
    package func fetched(_ deliveries: [Delivery], at moment: Int64) throws(RecordsError) -> [Delivery] {
        try write(isSynced: false) { (connection, _) throws(RecordsError) in
            var news: [Delivery] = []
            for delivery in deliveries where delivery.state == .queued {
                if try connection.fetched(delivery.number, at: moment) { news.append(delivery) }
            }
            return news
        }
    }

    /// Notes that the content of a waiting mail is not what was acknowledged. The mail keeps waiting, and a client that
    /// sends the same upload again repairs it.
    package func noteRotten(_ id: UploadID) throws(RecordsError) {
        try write { (connection, _) throws(RecordsError) in try connection.noteRotten(id) }
    }

    /// Records, all or nothing, that a recipient has received or declined uploads. Repeating the call changes nothing.
    /// An upload that the recipient confirms as received counts as received, whatever was recorded before.
    ///
    /// - Parameters:
    ///   - state: `delivered` or `declined`.
    ///   - receipts: returns, for the deliveries in the order of `ids`, what the recipient has signed of each; nil if
    ///     the recipient has signed something else. Called while the ledger is locked, so that it sees what is
    ///     recorded.
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
            // An upload that is named twice ends once.
            var named: Set<UInt64> = []
            for (index, delivery) in found.enumerated() where named.insert(delivery.number).inserted {
                let receipt = signed?[index]
                let isNews = state == .delivered ? delivery.state != .delivered : delivery.state.isOpen
                guard isNews || (state == .delivered && delivery.receipt == nil && receipt != nil) else { continue }
                try Self.end(delivery, as: state, receipt, at: moment, connection, &totals, &ended)
            }
            return .ended(ended)
        }
    }

    /// Ends some of the deliveries that have waited longer than `age`.
    ///
    /// - Parameters:
    ///   - age: nanoseconds of the ledger's own clock.
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

    /// Forgets mails that ended longer ago than `age`, and stores the time of the ledger's clock. A mail that a client
    /// sends again after that is delivered again.
    ///
    /// - Parameter age: nanoseconds of the ledger's own clock.
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
    /// Subtracts an age, which can be any number. If the result is clamped, it is a moment before or after all others.
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
