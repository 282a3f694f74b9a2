private import Glibc
private import TransferIO
private import TransferModel
private import TransferPorts
private import TransferServer
private import TransferStore
private import TransferSystem

/// `transfer verify`: compares stored files of a directory or of a cluster with the catalog, and prints differences.
struct VerifyCommand {
    private static let refreshInterval = Duration.milliseconds(200)

    /// Threads for each core. There are more threads than cores, because a thread mostly waits for the disk.
    private static let threadsPerCore = 2

    private let configuration: Scrub.Configuration
    /// The bucket and the database of a cluster; nil for a directory.
    private let cluster: ClusterAddress?
    private let output: PushOutput

    init(_ arguments: ParsedArguments) throws(UsageError) {
        cluster = try ClusterPlaceFlags.address(arguments)
        let ofDirectory = [Self.directory.flag, Self.state.flag, Self.repair.flag]
        if cluster != nil, let flag = ofDirectory.first(where: arguments.isSet) {
            throw arguments.error("'\(flag.spelling)' is for a directory; drop it or --store")
        }
        var configuration = Scrub.Configuration(directory: arguments[Self.directory])
        configuration.stateDirectory = arguments[Self.state]
        configuration.repairsCatalog = arguments[Self.repair]
        configuration.threads = Self.threadsPerCore * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        self.configuration = configuration
        output = PushOutput(arguments, json: Self.json, quiet: Self.quiet)
    }

    func run() async -> ExitCode {
        let printer = VerifyPrinter(output)
        // No work is lost if the command ends at once, because the catalog is repaired in transactions.
        Interruption.watch { Interruption.end(.uploadsFailed) }
        do throws(ServerError) {
            if let cluster {
                let check = try ClusterVerification(cluster) { printer.print($0) }
                return try await finish(printer, { check.progress }) { () throws(ServerError) in try check.run() }
            }
            let scrub = try Scrub(configuration, try openStore()) { printer.print($0) }
            return try await finish(printer, { scrub.progress }) { () throws(ServerError) in try scrub.run() }
        } catch {
            printer.clear()
            StandardStream.error.write("transfer: \(error.message)\n")
            return .fault
        }
    }

    /// Checks on another thread, and draws the progress meanwhile.
    private func finish(
        _ printer: VerifyPrinter, _ progress: @escaping @Sendable () -> ScrubProgress,
        _ check: @escaping @Sendable () throws(ServerError) -> ScrubSummary
    ) async throws(ServerError) -> ExitCode {
        let refreshing = output.showsProgress ? Task { await refresh(progress, printer) } : nil
        let pool = BlockingPool(name: "transfer-verify", threads: 1)
        let outcome = await pool.run { Result { () throws(ServerError) in try check() } }
        pool.close()
        refreshing?.cancel()
        await refreshing?.value
        return printer.finish(try outcome.get())
    }

    private func openStore() throws(ServerError) -> StoredFiles {
        do throws(Failure) {
            return try StoredFiles(path: configuration.directory)
        } catch {
            throw ServerError(error.message)
        }
    }

    private func refresh(_ progress: @Sendable () -> ScrubProgress, _ printer: VerifyPrinter) async {
        while !Task.isCancelled {
            printer.show(progress())
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }
}

extension VerifyCommand: ProgramCommand {
    private static let directory = ServeFlags.directory("The server's directory.")

    private static let state = ServeStorageFlags.state(
        "The folder of the catalog, if it is not DIR/.transfer.")

    private static let repair = Flag(
        name: "repair-catalog", help: "Update the catalog to what is stored.",
        details:
            "Adds untracked files, updates changed ones and removes missing ones. In a copied or restored "
            + "directory, files that are the same as before are recognised. A lost or damaged catalog is "
            + "rebuilt from the files. Stored files are never modified. No server may be running."
    ).isOn

    private static let json = Flag(
        name: "json", help: "Print one JSON object per line for every finding, and one for the summary."
    ).isOn

    private static let quiet = Flag(
        name: "quiet", short: "q", help: "Print only findings, without progress and summary."
    ).isOn

    static let definition = Command(
        name: "verify", summary: "Check stored files against the catalog.",
        description: [
            "Reads every stored file, and prints a line for each that is not as it was acknowledged: "
                + "rotten (its content differs, but nothing has modified it: the disk corrupted it), missing, "
                + "unreadable, changed (modified after it was stored) and untracked (not in the catalog).",
            "Rotten, missing and unreadable files make it exit with 1; changed and untracked files do "
                + "not, because no acknowledgement was broken. A server may be running at the same time.",
            "Rotten files are recorded in the catalog: a server no longer sends or acknowledges them, "
                + "and pushing the same content again replaces them.",
            "With --store and --catalog it reads the content of a cluster, object by object, while servers run or not. Files whose "
                + "objects are gone are missing, and those whose objects are too short are unreadable; they are recorded like "
                + "rotten ones.",
        ],
        flags: [
            directory.flag, state.flag, repair.flag, json.flag, quiet.flag,
        ] + ClusterPlaceFlags.all + [.insecurePermissions, .help],
        examples: [
            .init(caption: "Check that everything is still there", line: "transfer verify --dir /srv/in"),
            .init(
                caption: "Save the findings for a script",
                line: "transfer verify --dir /srv/in --json --quiet > findings.jsonl"),
            .init(
                caption: "Allow missing and changed files to be stored again (stop the server first)",
                line: "transfer verify --dir /srv/in --repair-catalog"),
            .init(
                caption: "Check all content of a cluster",
                line: "transfer verify --store s3://bucket --catalog postgres://db/transfer"),
        ],
        outcomes: [
            .init(.success, "every acknowledgement holds"),
            .init(.uploadsFailed, "something is rotten, missing or unreadable, or there is no catalog"),
            .init(.usage), .init(.fault, "the check or the repair failed"),
        ])
}
