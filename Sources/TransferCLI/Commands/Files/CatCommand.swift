private import TransferClient

/// `transfer cat`: writes the content of files to standard output. Each piece is written once it is verified.
struct CatCommand {
    private let access: FilesAccess
    private let paths: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else { throw arguments.error("nothing to print; name files") }
        paths = arguments.operands
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            return await ContentPrinter(try await access.client()).print(paths)
        } catch {
            return error.tell()
        }
    }
}

extension CatCommand: ProgramCommand {
    static let definition = Command(
        name: "cat", summary: "Print the content of files on the server.", operands: "PATH...",
        description: [
            "Writes each file to standard output in pieces of up to 4 MiB, each after it was verified. "
                + "If the exit code is not 0, the output is incomplete.",
            FilesFlags.aboutAccess,
        ],
        flags: [FilesFlags.from.flag, ClientFlags.retryFor.flag] + SecurityFlags.all + [
            FilesFlags.quiet.flag, .insecurePermissions, .help,
        ],
        examples: [
            .init(caption: "Read a note", line: "transfer cat nas.local:/notes/today.txt"),
            .init(caption: "Unpack an archive without keeping it", line: "transfer cat logs.tar > logs.tar"),
        ],
        outcomes: [.init(.success, "everything was written")] + FilesFlags.failures, places: .all)
}
