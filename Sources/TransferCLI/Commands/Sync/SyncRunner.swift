internal import TransferClient

/// Runs a sync, or what only looks, and shows it.
struct SyncRunner {
    private let access: FilesAccess
    private let places: SyncPlaces
    private let output: PushOutput
    private let words: SyncWords
    private let options: SyncOptions

    /// Often enough for an eye, seldom enough for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    init(_ arguments: ParsedArguments, _ options: SyncOptions, _ words: SyncWords) throws(UsageError) {
        (self.options, self.words) = (options, words)
        places = try SyncPlaces(arguments, server: SyncFlags.to.flag)
        output = PushOutput(arguments, json: SyncFlags.json, quiet: ClientFlags.quiet)
        var access = try FilesAccess(
            arguments, from: SyncFlags.to, quiet: ClientFlags.quiet, below: places.folder, SyncFlags.handling)
        access.configuration.traffic = output.traffic
        access.configuration.selection = try SelectionFlags.push.selection(arguments)
        self.access = access
    }

    func run() async -> ExitCode {
        let reporter = SyncReporter(output, words, isPush: places.isPush, isDryRun: options.isDryRun)
        do throws(PushFailure) {
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            let client = try await access.client(reporter)
            let events =
                places.isPush
                ? client.sync(from: places.directory, options: options)
                : client.sync(to: places.directory, options: options)
            Interruption.watch { events.cancel() }
            for try await event in events { await reporter.show(event, isLast: !events.areWaiting) }
            return await reporter.finish(nil)
        } catch {
            return await reporter.finish(error)
        }
    }

    private func refresh(_ reporter: SyncReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }
}
