import TransferIO
import TransferModel
import TransferSystem

/// A source was left where it is; nothing was removed.
public struct SourceKept: Error, Sendable, Equatable {
    /// Why; a sentence.
    public let reason: String

    /// Whether it is a directory with something in it, which has a report of its own or was not to be sent.
    public var isOccupied = false
}

extension TransferClient {
    /// Removes the file that was pushed. Only when the server has made durable exactly what the file holds and, asked again, says that
    /// it has it still under the same path; when it is still the same file with the same size and time of modification, and when it is
    /// not the stored file itself: the source may lie in the server's own directory, by whatever path. One that was not read for the
    /// push, because the server knew it, is read and compared before. What somebody has open for writing stays, as far as the kernel
    /// tells. Of an archive, symbolic links go as well, and directories when nothing is left in them.
    ///
    /// To be called behind everything that may replace what was stored.
    ///
    /// - Parameter report: of a push of this client.
    /// - Throws: `SourceKept`, and the file is left.
    public func removeSource(of report: UploadReport) async throws(SourceKept) {
        for result in await removeSources(of: [report]) { try result.get() }
    }

    /// The same for many, which costs little more than for one: the server is asked about many at once.
    ///
    /// - Returns: one result for each report, in their order.
    public func removeSources(of reports: [UploadReport]) async -> [Result<Void, SourceKept>] {
        var results: [Result<Void, SourceKept>] = []
        for start in stride(from: 0, to: reports.count, by: Self.uploadsAtOnce) {
            let some = reports[start..<min(start + Self.uploadsAtOnce, reports.count)]
            // Before there are witnesses: a second name of a stored file makes it one that the server has to read to know it.
            let stored = await lookUp(some)
            for start in stride(from: some.startIndex, to: some.endIndex, by: Self.sourcesAtOnce) {
                results += await remove(some[start..<min(start + Self.sourcesAtOnce, some.endIndex)], stored)
            }
        }
        return results
    }

    /// The key of names that a push gives back; nil where it gives none.
    var sweeps: WitnessKey? { requestContext.configuration.givesNamesBack ? sweptDirectories.key : nil }

    /// Looks at the file of a report for what picture it is, where it was not read for the push.
    public func picture(of report: UploadReport) async -> Picture? {
        guard report.picture == nil, report.kind == .picture, report.isPath else { return report.picture }
        return await pool.run {
            let place = report.place ?? SourcePlace(named: report.source, followsLink: true)
            guard let file = try? SourceFile(place), file.identity == report.file
            else {
                return nil
            }
            return Picture(ContentReader(file))
        }
    }

    /// Uploads that are looked up over one connection.
    private static let uploadsAtOnce = 4096

    /// Each holds a descriptor of its directory while the server is asked.
    private static let sourcesAtOnce = 256

    /// Seconds for which a lost connection is tried again: whoever waits can push again instead.
    private static let patience = 10.0

    /// - Parameter stored: what the server has said of their uploads.
    private func remove(
        _ reports: ArraySlice<UploadReport>, _ stored: SourceAnswers
    ) async -> [Result<Void, SourceKept>] {
        let replaces = requestContext.configuration.conflict == .overwrite
        let marked = await pool.run { [sweptDirectories] in
            var directories = SourceDirectories(swept: sweptDirectories)
            return reports.map { report in
                Result { () throws(SourceKept) in
                    try MarkedSource(report, mayHaveReplaced: replaces, &directories)
                }
            }
        }
        let said = await ask(about: marked.compactMap { try? $0.get() }, stored)
        return await pool.run {
            marked.map { marked in
                marked.flatMap { source in Result { () throws(SourceKept) in try source.remove(said) } }
            }
        }
    }

    /// Asks whether the server has what it has acknowledged.
    private func lookUp(_ reports: ArraySlice<UploadReport>) async -> SourceAnswers {
        var said = SourceAnswers()
        for (digest, reports) in Dictionary(grouping: reports, by: \.digest?.algorithm) {
            let ids = reports.compactMap(MarkedSource.lookedUp)
            guard let digest, let lookup = UploadLookup(ids, digest.function) else { continue }
            let queue = RequestQueue(lookup: lookup)
            if case .failure(let failure) = await RequestRun(requestContext.trying(for: Self.patience), queue).run() {
                said.failure = failure
            }
            said.uploads.merge(queue.found) { _, last in last }
        }
        return said
    }

    /// Asks what the server sees of the witnesses.
    private func ask(about sources: [MarkedSource], _ stored: SourceAnswers) async -> SourceAnswers {
        guard !sources.isEmpty, stored.failure == nil else { return stored }
        var said = stored
        let events = EventQueue<StatReport>()
        // Everything is asked before anything is taken: there are few.
        let queue = RequestQueue()
        for source in sources { source.ask(queue, events) }
        events.finish(await RequestRun(requestContext.trying(for: Self.patience), queue).run())
        do throws(TransferFailure) {
            while let report = try await events.next() { said.paths[PathKey(report.path)] = report }
        } catch {
            said.failure = error
        }
        return said
    }
}
