private import CLinux
private import Glibc
internal import TransferClient
private import TransferModel

/// Runs a sync or a check, and prints its results.
struct SyncRunner {
    private let access: FilesAccess
    private let places: SyncPlaces
    private let output: PushOutput
    private let words: SyncWords
    private let options: SyncOptions

    /// Time between two drawings of progress: smooth, but not too much for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    init(_ arguments: ParsedArguments, _ options: SyncOptions, _ words: SyncWords) throws(UsageError) {
        (self.options, self.words) = (options, words)
        places = try SyncPlaces(arguments, server: SyncFlags.to.flag)
        if places.isPush { try Self.checkFolder(places.directory, arguments) }
        output = PushOutput(arguments, json: SyncFlags.json, quiet: ClientFlags.quiet)
        var access = try FilesAccess(
            arguments, from: SyncFlags.to, quiet: ClientFlags.quiet, below: places.folder, SyncFlags.handling)
        access.configuration.traffic = output.traffic
        access.configuration.selection = try SelectionFlags.push.selection(arguments)
        self.access = access
    }

    /// Refuses a source that is a file. If the path cannot be examined, this is reported later.
    private static func checkFolder(_ path: String, _ arguments: ParsedArguments) throws(UsageError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return }
        let words = arguments.words
        let name = arguments.command.name
        let what = "'\(path.escapedForDisplay)' is not a folder, and \(name) takes only folders"
        guard !arguments.places.isEmpty, !words.contains(where: OperandReader.mayHaveSecret) else {
            throw arguments.error("\(what); 'transfer push' sends files")
        }
        throw arguments.error("\(what); to send it, write: \(CommandLineText(PushCommand.definition, words).text)")
    }

    func run() async -> ExitCode {
        let reporter = SyncReporter(
            output, words, isPush: places.isPush, isDryRun: options.isDryRun, server: access.serverName)
        do throws(TransferFailure) {
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            let client = try await access.client(reporter)
            let events = Interruption.begin {
                places.isPush
                    ? client.sync(from: places.directory, options: options)
                    : client.sync(to: places.directory, options: options)
            } stop: {
                $0.cancel()
            }
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
