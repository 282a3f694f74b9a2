private import Glibc
private import TransferIO
private import TransferModel
private import TransferServer
private import TransferSystem

/// `transfer verify`: reads what is stored, compares it with the catalog, prints what is not as it should be.
struct VerifyCommand {
    private static let refreshInterval = Duration.milliseconds(200)

    /// More than there are cores: each waits for the disk most of the time.
    private static let threadsPerCore = 2

    private let configuration: Scrub.Configuration
    private let output: PushOutput

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var configuration = Scrub.Configuration(directory: try arguments.requiredString("dir"))
        configuration.repairsCatalog = arguments.isSet("repair-catalog")
        configuration.threads = Self.threadsPerCore * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        self.configuration = configuration
        output = PushOutput(arguments)
    }

    func run() async -> ExitCode {
        let printer = VerifyPrinter(output)
        // Nothing is lost by ending at once: the catalog is repaired in transactions.
        Interruption.watch { _exit(128 + SIGINT) }
        do throws(ServerError) {
            let scrub = try Scrub(configuration) { printer.print($0) }
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

    private func refresh(_ scrub: Scrub, _ printer: VerifyPrinter) async {
        while !Task.isCancelled {
            printer.show(scrub.progress)
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }
}
