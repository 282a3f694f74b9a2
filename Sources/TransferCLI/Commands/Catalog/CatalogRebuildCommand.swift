private import TransferCluster
private import TransferIO
private import TransferModel
private import TransferPorts
private import TransferServer
private import TransferSystem

/// `transfer catalog rebuild`: fills the empty database of a cluster from its bucket.
struct CatalogRebuildCommand {
    private let address: ClusterAddress
    private let output: PushOutput

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard let address = try ClusterPlaceFlags.address(arguments) else {
            throw arguments.error("give the bucket with --store and the empty database with --catalog")
        }
        self.address = address
        output = PushOutput(arguments, json: Self.json, quiet: Self.quiet)
    }

    func run() async -> ExitCode {
        let printer = RebuildPrinter(output)
        Interruption.watch {
            StandardStream.error.write(
                "\ntransfer: It was stopped. Run the same command again, which starts from the beginning.\n")
            Interruption.end(.uploadsFailed)
        }
        let pool = BlockingPool(name: "transfer-rebuild", threads: 1)
        let outcome = await pool.run { [address, output] in
            Result { () throws(ServerError) in
                let engines = try ClusterEngines.forRebuild(address)
                do throws(Failure) {
                    return try CatalogRebuild.run(
                        engines.bucket, engines.ledger,
                        progress: { if output.showsProgress { printer.show($0) } })
                } catch {
                    throw ServerError(error.message)
                }
            }
        }
        pool.close()
        do throws(ServerError) {
            return printer.finish(try outcome.get())
        } catch {
            printer.clear()
            StandardStream.error.write("transfer: \(error.message)\n")
            return .fault
        }
    }
}

extension CatalogRebuildCommand: ProgramCommand {
    private static let json = Flag(
        name: "json", help: "Print one JSON object per line for everything that is not used, and one for the summary."
    ).isOn

    private static let quiet = Flag(
        name: "quiet", short: "q", help: "Print only what is not used, without progress and summary."
    ).isOn

    static let definition = Command(
        name: "catalog rebuild", summary: "Fill the empty database of a cluster from its bucket.",
        description: [
            "For a cluster whose database and its backups are lost. Each object in the bucket says which uploads its "
                + "content belongs to, and the uploads are stored once more, in their order. The database has to be empty, and "
                + "no server may use it or the bucket. If the command is stopped, run it again; until it has ended, no server starts with "
                + "the database.",
            "The bucket does not know what happened later. Moved files are at their first path, and removed files come back if others "
                + "in their pack have kept the pack. Mail, receipts, symbolic links, empty folders, unfinished uploads, access "
                + "lists and settings cannot come back.",
        ],
        flags: ClusterPlaceFlags.all + [json.flag, quiet.flag, .insecurePermissions, .help],
        examples: [
            .init(
                caption: "Make the lost database of a cluster again",
                line: "transfer catalog rebuild --store s3://bucket --catalog postgres://db/new")
        ],
        outcomes: [
            .init(.success, "the database has all files that the bucket describes"),
            .init(.uploadsFailed, "the database is filled, and some uploads or objects could not be used"),
            .init(.usage), .init(.fault, "the database is not empty, is another cluster's, or could not be filled"),
        ])
}
