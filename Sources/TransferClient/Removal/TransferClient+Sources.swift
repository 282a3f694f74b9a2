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
    /// Removes the file that was pushed. Only when the server has made durable exactly what the file holds, when it is still
    /// the same file with the same size and time of modification, and when it is not the stored file itself: the source may
    /// lie in the server's own directory, by whatever path. One that was not read for the push, because the server knew it,
    /// is read and compared before. What somebody has open for writing stays, as far as the kernel tells. Of an archive, symbolic
    /// links go as well, and directories when nothing is left in them.
    ///
    /// - Parameter report: of a push of this client.
    /// - Throws: `SourceKept`, and the file is left.
    public func removeSource(of report: UploadReport) async throws(SourceKept) {
        for result in await removeSources(of: [report]) { try result.get() }
    }

    /// The same for many, which costs little more than for one: the server is asked about up to 256 at once.
    ///
    /// - Returns: one result for each report, in their order.
    public func removeSources(of reports: [UploadReport]) async -> [Result<Void, SourceKept>] {
        var results: [Result<Void, SourceKept>] = []
        for start in stride(from: 0, to: reports.count, by: Self.sourcesAtOnce) {
            results += await remove(reports[start..<min(start + Self.sourcesAtOnce, reports.count)])
        }
        return results
    }

    /// Looks at the file of a report for what picture it is, where it was not read for the push.
    public func picture(of report: UploadReport) async -> Picture? {
        guard report.picture == nil, report.kind == .picture, report.isPath else { return report.picture }
        return await pool.run {
            guard let file = try? SourceFile(path: report.source, followsLinks: true), file.identity == report.file
            else {
                return nil
            }
            return Picture(ContentReader(file))
        }
    }

    /// Each holds a descriptor of its directory while the server is asked.
    private static let sourcesAtOnce = 256

    /// Seconds for which a lost connection is tried again: whoever waits can push again instead.
    private static let patience = 10.0

    private func remove(_ reports: ArraySlice<UploadReport>) async -> [Result<Void, SourceKept>] {
        let replaces = requestContext.configuration.conflict == .overwrite
        let marked = await pool.run { [sweptDirectories] in
            var directories = SourceDirectories(swept: sweptDirectories)
            return reports.map { report in
                Result { () throws(SourceKept) in
                    try MarkedSource(report, mayHaveReplaced: replaces, &directories)
                }
            }
        }
        let (answers, failure) = await look(for: marked.compactMap { try? $0.get().witnessPath })
        return await pool.run {
            marked.map { marked in
                marked.flatMap { source in
                    Result { () throws(SourceKept) in
                        try source.remove(answers[PathKey(source.witnessPath)], failure)
                    }
                }
            }
        }
    }

    /// - Parameter paths: below the client's top, the folder of the server's address included.
    /// - Returns: what the server said, and why it has not answered to all.
    private func look(for paths: [String]) async -> ([PathKey: StatReport], PushFailure?) {
        guard !paths.isEmpty else { return ([:], nil) }
        let events = EventQueue<StatReport>()
        // Everything is asked before anything is taken: there are few.
        let queue = RequestQueue { false }
        for path in paths { queue.add(StatTaker(path, remote: path, queue, events).asked) }
        events.finish(await RequestRun(requestContext.trying(for: Self.patience), queue).run())
        var answers: [PathKey: StatReport] = [:]
        do throws(PushFailure) {
            while let report = try await events.next() { answers[PathKey(report.path)] = report }
            return (answers, nil)
        } catch {
            return (answers, error)
        }
    }
}
