private import Glibc
private import TransferIO
private import TransferModel
private import TransferPorts
private import TransferServer
private import TransferStore
private import TransferSystem

/// `transfer verify`: reads what is stored, compares it with the catalog, prints what is not as it should be.
struct VerifyCommand {
    private static let refreshInterval = Duration.milliseconds(200)

    /// More than there are cores: each waits for the disk most of the time.
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
        // Nothing is lost by ending at once: the catalog is repaired in transactions.
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
    private static let directory = ServeFlags.directory("The directory that a server stores in.")

    private static let state = ServeStorageFlags.state(
        "The folder with the catalog, where the server has another one than DIR/.transfer.")

    private static let repair = Flag(
        name: "repair-catalog", help: "Make the catalog say what is there.",
        details:
            "Strangers are added, changed files brought up to date and missing ones removed. Of a directory that was "
            + "copied or restored, files that are the same as before are known again. A catalog that is lost or damaged "
            + "is made anew from the files. Stored files are never touched. No server may be running."
    ).isOn

    private static let json = Flag(
        name: "json", help: "Print one JSON object a line for every finding, and one for the summary."
    ).isOn

    private static let quiet = Flag(
        name: "quiet", short: "q", help: "Show no progress and no summary; findings are still printed."
    ).isOn

    static let definition = Command(
        name: "verify", summary: "Read everything stored again and compare it with the catalog.",
        description: [
            "Prints a line for every file that is not as it was acknowledged: rotten (nobody changed it, and its content "
                + "is another: the disk lost it), missing, unreadable, changed (somebody changed it after it was stored) "
                + "and stranger (the catalog knows nothing of it).",
            "What is rotten, missing or unreadable makes it exit with 1; changed files and strangers don't, because no "
                + "promise was broken. A server may be running meanwhile.",
            "What is rotten is kept in the catalog: a server sends and acknowledges it no more, and pushing the same "
                + "content again puts it in the rotten file's place.",
        ],
        flags: [
            directory.flag, state.flag, repair.flag, json.flag, quiet.flag, .insecurePermissions, .help,
        ],
        examples: [
            .init(caption: "Look whether everything is still there", line: "transfer verify --dir /srv/in"),
            .init(
                caption: "Keep the findings for a script to read",
                line: "transfer verify --dir /srv/in --json --quiet > findings.jsonl"),
            .init(
                caption: "Let missing and changed files be stored again (stop the server first)",
                line: "transfer verify --dir /srv/in --repair-catalog"),
        ],
        outcomes: [
            .init(.success, "every acknowledgement holds"),
            .init(.uploadsFailed, "something is rotten, missing or unreadable, or there is no catalog"),
            .init(.usage), .init(.fault, "it could not look, or could not repair"),
        ])
}
