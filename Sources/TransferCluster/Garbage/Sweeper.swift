package import TransferModel
package import TransferObjects

/// Deletes objects that nothing needs: those that no row refers to any more, and those of servers that have died between
/// storing an object and committing its rows. Copies what is left of objects that are mostly dead (`ObjectRewriter`).
/// Every step is right if several servers sweep at once.
package struct Sweeper: Sendable {
    /// What a pass has done.
    package struct Report: Equatable, Sendable {
        /// Epochs whose objects without a row are deleted.
        package var epochs = 0

        /// Objects that had no row.
        package var orphans = 0

        /// Objects that no extent referred to any more.
        package var unused = 0

        /// Objects whose live bytes are in other objects now.
        package var rewritten = 0

        package init() {}
    }

    /// Nanoseconds after which an epoch is closed: much longer than any upload of a pack or of a segment takes.
    package static let epochAge: Int64 = 24 * 3600 * 1_000_000_000

    /// Nanoseconds for which an object stays after its last reference went, for readers that have opened a file.
    package static let readerTime: Int64 = 3600 * 1_000_000_000

    /// Nanoseconds since an epoch was opened after which its objects are rewritten: it gives out numbers for an hour, and
    /// many files are removed soon after they were stored.
    package static let rewriteAge: Int64 = 2 * 3600 * 1_000_000_000

    /// Objects that one query or listing returns.
    private static let page = 1000

    private let bucket: any ObjectStore
    private let ledger: any ClusterLedger
    private let configuration: ClusterStore.Configuration

    /// - Parameter configuration: the clocks and the random numbers of the server that sweeps.
    package init(
        _ bucket: any ObjectStore, _ ledger: any ClusterLedger,
        _ configuration: ClusterStore.Configuration = ClusterStore.Configuration(server: "sweeper")
    ) {
        (self.bucket, self.ledger, self.configuration) = (bucket, ledger, configuration)
    }

    /// Makes one pass. After an error, the next pass continues.
    ///
    /// - Parameters:
    ///   - epochAge: nanoseconds.
    ///   - readerTime: nanoseconds.
    ///   - rewriteAge: nanoseconds since the epoch of an object was opened.
    package func sweep(
        epochAge: Int64 = epochAge, readerTime: Int64 = readerTime, rewriteAge: Int64 = rewriteAge
    ) throws(Failure) -> Report {
        var report = Report()
        do throws(LedgerError) {
            let term = ledger.term
            let closed = try ledger.closeEpochs(olderThan: epochAge)
            // A standby that becomes the database must not take an epoch for open whose objects are deleted.
            if !closed.isEmpty { try waitForStandby(of: term) }
            for epoch in closed {
                report.orphans += try deleteOrphans(of: epoch)
                try ledger.noteSwept(epoch.number)
                report.epochs += 1
            }
            while true {
                let unused = try ledger.unused(for: readerTime, limit: Self.page)
                guard !unused.isEmpty else { break }
                // Nor may it have a file whose object is deleted.
                try waitForStandby(of: term)
                let rows = try ledger.epochs(Array(Set(unused.map(\.epoch))))
                let epochs = Dictionary(rows.map { ($0.number, $0) }) { first, _ in first }
                for number in unused { try delete(number, in: epochs[number.epoch]) }
                try ledger.forget(unused)
                report.unused += unused.count
            }
        } catch {
            throw Failure(ledger: error)
        }
        report.rewritten = try ObjectRewriter(bucket, ledger, configuration).run(age: rewriteAge)
        return report
    }

    private func waitForStandby(of term: LedgerTerm) throws(LedgerError) { try ledger.awaitDurability(of: term) }

    /// Deletes the objects of a closed epoch that have no row: no commit can refer to them any more.
    private func deleteOrphans(of epoch: EpochRow) throws(LedgerError) -> Int {
        var (orphans, last): (Int, ObjectKey?) = (0, nil)
        while true {
            let page: ObjectPage
            do throws(ObjectError) {
                page = try bucket.list("\(epoch.key)/", after: last, limit: Self.page)
            } catch {
                throw LedgerError(object: error)
            }
            let found = page.objects.compactMap { object in
                ObjectNumber(key: object.key.text).map { (number: $0, key: object.key) }
            }
            let known = try ledger.known(found.map(\.number))
            for (number, key) in found where number.epoch == epoch.number && !known.contains(number) {
                try delete(key)
                orphans += 1
            }
            guard !page.isLast, let end = page.objects.last?.key else { return orphans }
            last = end
        }
    }

    /// - Parameter epoch: the epoch of the object; nil if the database has lost it, so that the key is unknown.
    private func delete(_ number: ObjectNumber, in epoch: EpochRow?) throws(LedgerError) {
        guard let epoch, let key = ObjectKey(number.key(in: epoch)) else { return }
        try delete(key)
    }

    private func delete(_ key: ObjectKey) throws(LedgerError) {
        do throws(ObjectError) { try bucket.delete(key) } catch { throw LedgerError(object: error) }
    }
}

extension LedgerError {
    /// The bucket has not done what the sweeper needs.
    fileprivate init(object error: ObjectError) {
        self.init(error.isTransient ? .unavailable : .refused, error.message)
    }
}
