import TransferCluster
import TransferModel
import TransferPorts
import TransferSystem

/// The check of `transfer verify` for a cluster: the results of `ContentScrub` in the form of those for a directory.
package final class ClusterVerification: Sendable {
    private let engines: ClusterEngines
    private let scrub: ContentScrub
    private let expected: ScrubSummary.Count
    private let tally = Tally()

    /// Counts findings, also while the check is made.
    private final class Tally: Sendable {
        let counts = Locked<[ScrubFinding.Kind: ScrubSummary.Count]>([:])

        func add(_ finding: ScrubFinding) {
            counts.withLock { $0[finding.kind, default: .init()].add(finding.size) }
        }
    }

    /// Opens the bucket and the database. Blocks.
    ///
    /// - Parameter report: called with each finding, by one thread at a time.
    /// - Throws: `ServerError` with a sentence that says what to do.
    package init(_ address: ClusterAddress, report: @escaping @Sendable (ScrubFinding) -> Void) throws(ServerError) {
        engines = try ClusterEngines.ofCluster(address)
        do throws(LedgerError) {
            // As many files are expected as uploads were stored.
            let totals = try engines.ledger.totals()[.committed] ?? CatalogTotals()
            expected = .init(files: totals.uploads, bytes: totals.bytes)
        } catch {
            throw ServerError(error.message)
        }
        let tally = tally
        do throws(Failure) {
            scrub = try ContentScrub(engines.bucket, engines.ledger) { found in
                let finding = ScrubFinding(found)
                tally.add(finding)
                report(finding)
            }
        } catch {
            throw ServerError(error.message)
        }
    }

    package var progress: ScrubProgress {
        let checked = scrub.progress
        var progress = ScrubProgress()
        (progress.files, progress.bytes, progress.expected) = (checked.files, checked.bytes, expected)
        return progress
    }

    /// Reads everything. To be called once.
    package func run() throws(ServerError) -> ScrubSummary {
        var summary = ScrubSummary()
        do throws(Failure) {
            let intact = try scrub.run()
            summary.intact = .init(files: intact.files, bytes: intact.bytes)
        } catch {
            throw ServerError(error.message)
        }
        do throws(LedgerError) {
            let unfinished = try engines.ledger.uploads()
            let bytes = unfinished.reduce(UInt64(0)) { $0.addingClamped($1.reserved) }
            summary.unfinished = .init(files: unfinished.count, bytes: bytes)
        } catch {
            throw ServerError(error.message)
        }
        summary.findings = tally.counts.withLock { $0 }
        return summary
    }
}

extension ScrubFinding {
    fileprivate init(_ found: ContentScrub.Finding) {
        self.init(kind: .rotten, path: found.path, size: found.size, recorded: found.recorded)
        switch found.damage {
        case .otherContent(let digest): self.found = digest
        case .missing(let reason): (kind, self.reason) = (.missing, reason)
        case .unreadable(let reason): (kind, self.reason) = (.unreadable, reason)
        }
    }
}
