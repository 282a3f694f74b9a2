private import TransferClient
private import TransferModel
private import TransferSystem

/// `transfer pull`: fetches files and folders from the server.
struct PullCommand {
    /// Time between two drawings of progress: smooth, but not too much for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    private let access: FilesAccess
    private let downloads: PullDownloads
    private let target: PullTarget
    /// The stream to write the content to; nil to store files.
    private let sink: ContentSink?
    private let output: PushOutput
    private let failedList: FailedList?
    private let isPreview: Bool
    private let ignoresCase: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        downloads = try PullDownloads(arguments)
        target = try PullTarget(arguments, downloads)
        output = PushOutput(arguments, json: PullFlags.json, quiet: ClientFlags.quiet)
        isPreview = arguments[PullFlags.isPreview]
        guard !isPreview || !arguments.isSet(PullFlags.failedTo.flag) else {
            throw arguments.error(
                "--dry-run and --failed-to exclude each other")
        }
        let selection = try SelectionFlags.pull.selection(arguments)
        ignoresCase = selection.ignoresCase
        var access = try FilesAccess(arguments, quiet: ClientFlags.quiet, PullFlags.choices)
        (access.configuration.selection, access.configuration.traffic) = (selection, output.traffic)
        try ArchiveFlag.pull(arguments, on: &access.configuration)
        access.configuration.countsAhead = output.progress != .none
        // Folders are compared as a whole only if no result is needed for each file.
        access.configuration.asksByFolder = !output.isJSON && !access.configuration.archives
        self.access = access
        // Opened last, because this creates a file: every check that can refuse the command comes before.
        let form = arguments.isSet(PullFlags.manifest.flag) ? FailedList.Form.manifest([:]) : .paths(arguments)
        failedList = try FailedList(PullFlags.failedTo, arguments, form)
        sink = try target.sink(arguments)
    }

    func run() async -> ExitCode {
        let reporter = PullReporter(output, failedList: failedList, isPreview: isPreview)
        let left = Locked<[PullRemainder]?>(nil)
        do throws(TransferFailure) {
            let client = try await access.client(reporter)
            if let sink { return await ContentPrinter(client, to: sink).print(downloads.map(\.path)) }
            guard let place = try await place(client) else { return await reporter.refuseName() }
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            await reporter.show(unusable: downloads.unusable)
            let events = client.pull(place.downloads, to: place.directory, isPreview: isPreview) { rest in
                left.withLock { $0 = rest }
            }
            Interruption.watch { events.cancel() }
            for try await event in events { await reporter.show(event, isLast: !events.areWaiting) }
            return await reporter.finish(nil)
        } catch {
            // Downloads that did not begin are listed in the words of the command.
            await reporter.list(rest: left.withLock { $0 } ?? downloads.map(\.remainder))
            return await reporter.finish(error)
        }
    }

    /// The downloads and their target directory. With `-o PATH`, they depend on what the server has: a single file gets
    /// PATH as its own path, and anything else is put into the directory PATH.
    ///
    /// - Returns: nil if a file would get another name although `--failed-to` is given, whose list cannot contain that
    ///   name.
    private func place(
        _ client: TransferClient
    ) async throws(TransferFailure) -> (downloads: PullDownloads, directory: String)? {
        guard case .either(let path) = target, let only = downloads.only else {
            guard case .directory(let path) = target else { return nil }
            return (downloads, path)
        }
        var found: StatReport?
        for try await report in client.stat([only.path]) { found = report }
        let mayBeOther = found?.entry == nil && (only.hasWildcards || ignoresCase)
        guard found?.entry?.isDirectory != true, !mayBeOther else { return (downloads, path) }
        guard failedList == nil else { return nil }
        let (directory, name) = PullTarget.split(path)
        return (PullDownloads(only: Download(only.path, name: name), of: downloads), directory)
    }

    private func refresh(_ reporter: PullReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }
}
