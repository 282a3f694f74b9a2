private import TransferClient
private import TransferModel

/// `transfer pull`: fetches files and folders from the server.
struct PullCommand {
    /// Often enough for an eye, seldom enough for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    private let access: FilesAccess
    private let paths: [String]
    private let directory: String
    private let output: PushOutput

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else { throw arguments.error("nothing to pull; name files or folders") }
        paths = arguments.operands
        directory = try arguments.requiredString("output")
        output = PushOutput(arguments)
        access = try FilesAccess(arguments) { (configuration) throws(UsageError) in
            configuration.digest = arguments.choice("digest", as: DigestFunction.self) ?? configuration.digest
            configuration.conflict = arguments.choice("on-conflict", as: ConflictPolicy.self) ?? configuration.conflict
            guard arguments.string("lanes") != "auto" else { return }
            configuration.lanes = .fixed(try arguments.count("lanes", in: 1...ClientConfiguration.mostLanes))
        }
    }

    func run() async -> ExitCode {
        let reporter = PullReporter(output)
        do throws(PushFailure) {
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            let events = try await access.client(reporter).pull(paths, to: directory)
            Interruption.watch { events.cancel() }
            for try await event in events { await reporter.show(event, isLast: !events.areWaiting) }
            return await reporter.finish(nil)
        } catch {
            return await reporter.finish(error)
        }
    }

    private func refresh(_ reporter: PullReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }
}
