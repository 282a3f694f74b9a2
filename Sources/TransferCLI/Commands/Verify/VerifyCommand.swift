private import Glibc
private import TransferIO
private import TransferModel
private import TransferPorts
private import TransferServer
private import TransferStore
private import TransferSystem

/// `transfer verify`: compares stored files with the catalog, and prints differences.
struct VerifyCommand {
    private static let refreshInterval = Duration.milliseconds(200)

    /// Threads for each core. There are more threads than cores, because a thread mostly waits for the disk.
    private static let threadsPerCore = 2

    private let configuration: Scrub.Configuration
    private let output: PushOutput

    init(_ arguments: ParsedArguments) throws(UsageError) {
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
            let scrub = try Scrub(configuration, try openStore()) { printer.print($0) }
            let refreshing = output.showsProgress ? Task { await refresh(scrub, printer) } : nil
            let pool = BlockingPool(name: "transfer-verify", threads: 1)
            let outcome = await pool.run { Result { () throws(ServerError) in try scrub.run() } }
            pool.close()
            refreshing?.cancel()
            await refreshing?.value
            return printer.finish(try outcome.get())
        } catch {
            printer.clear()
            StandardStream.error.write("transfer: \(error.message)\n")
            return .fault
        }
    }

    private func openStore() throws(ServerError) -> StoredFiles {
        do throws(Failure) {
            return try StoredFiles(path: configuration.directory)
        } catch {
            throw ServerError(error.message)
        }
    }

    private func refresh(_ scrub: Scrub, _ printer: VerifyPrinter) async {
        while !Task.isCancelled {
            printer.show(scrub.progress)
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
        ],
        flags: [
            directory.flag, state.flag, repair.flag, json.flag, quiet.flag, .insecurePermissions, .help,
        ],
        examples: [
            .init(caption: "Check that everything is still there", line: "transfer verify --dir /srv/in"),
            .init(
                caption: "Save the findings for a script",
                line: "transfer verify --dir /srv/in --json --quiet > findings.jsonl"),
            .init(
                caption: "Allow missing and changed files to be stored again (stop the server first)",
                line: "transfer verify --dir /srv/in --repair-catalog"),
        ],
        outcomes: [
            .init(.success, "every acknowledgement holds"),
            .init(.uploadsFailed, "something is rotten, missing or unreadable, or there is no catalog"),
            .init(.usage), .init(.fault, "the check or the repair failed"),
        ])
}
