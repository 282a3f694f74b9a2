private import CLinux
private import Glibc
private import TransferModel

/// Where a pull puts things: what `--output` says.
enum PullTarget: Equatable {
    case standardOutput
    case directory(String)
    /// A directory, or the file itself where what is pulled is one file.
    case either(String)

    /// - Throws: `UsageError` for what makes no sense with standard output.
    init(_ arguments: ParsedArguments, _ downloads: PullDownloads) throws(UsageError) {
        let path = arguments[PullFlags.output]
        guard path != "-" else {
            try Self.checkStandardOutput(arguments, downloads)
            self = .standardOutput
            return
        }
        self = downloads.only == nil || Self.isDirectory(path) ? .directory(path) : .either(path)
    }

    private static func checkStandardOutput(
        _ arguments: ParsedArguments, _ downloads: PullDownloads
    ) throws(UsageError) {
        guard downloads.only != nil else {
            throw arguments.error("-o - prints one file; 'transfer cat' prints several, and -o DIR puts them into DIR")
        }
        let senseless =
            [PullFlags.json, PullFlags.isPreview].map(\.flag) + [PullFlags.failedTo.flag, ArchiveFlag.pull.flag]
        for flag in senseless + SelectionFlags.pull.all where arguments.isSet(flag) {
            throw arguments.error("\(flag.spelling) goes with no -o -, which prints the file; give -o DIR")
        }
    }

    /// Whether it can be nothing else.
    private static func isDirectory(_ path: String) -> Bool {
        let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? [][...]
        guard !last.isEmpty, !last.elementsEqual(".".utf8), !last.elementsEqual("..".utf8) else { return true }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The directory and the name in it that a path of a file stands for.
    static func split(_ path: String) -> (directory: String, name: String) {
        let slash = UInt8(ascii: "/")
        guard let last = path.utf8.lastIndex(of: slash) else { return (".", path) }
        let name = String(path[path.utf8.index(after: last)...])
        return (last == path.startIndex ? "/" : String(path[..<last]), name)
    }
}
