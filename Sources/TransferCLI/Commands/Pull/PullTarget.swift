private import CLinux
private import Glibc
private import TransferModel
private import TransferSystem

/// The target of a pull, as `--output` gives it.
enum PullTarget: Equatable {
    case standardOutput
    /// A descriptor that the process has inherited.
    case descriptor(Int32, String)
    /// An existing path that is neither a file nor a directory, such as a device or a FIFO.
    case stream(String)
    case directory(String)
    /// A directory, or the path of the file if a single file is pulled.
    case either(String)

    /// - Throws: `UsageError` for flags that cannot be used because the target is a stream.
    init(_ arguments: ParsedArguments, _ downloads: PullDownloads) throws(UsageError) {
        let path = arguments[PullFlags.output]
        if let stream = Self.place(of: path) {
            try Self.checkStream(path.escapedForDisplay, arguments, downloads)
            self = stream
        } else {
            self = downloads.only == nil || Self.isDirectory(path) ? .directory(path) : .either(path)
        }
    }

    /// The stream to write the content to; nil for files.
    ///
    /// - Throws: `UsageError` if the stream cannot be opened for writing.
    func sink(_ arguments: ParsedArguments) throws(UsageError) -> ContentSink? {
        switch self {
        case .directory, .either: return nil
        case .standardOutput: return .output
        case .descriptor(let number, let path):
            guard let sink = ContentSink(open: number, name: path) else {
                throw arguments.error("-o \(path): it cannot be written to; it is not open, or only for reading")
            }
            return sink
        case .stream(let path):
            do throws(SystemError) {
                return try ContentSink(opening: path)
            } catch {
                throw arguments.failure(
                    "'\(path.escapedForDisplay)' cannot be written to: \(error.reason).", .uploadsFailed)
            }
        }
    }

    private static func place(of path: String) -> PullTarget? {
        if path == "-" { return .standardOutput }
        if let number = descriptor(path) { return .descriptor(number, path) }
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) ? nil : .stream(path)
    }

    /// The descriptor's number in a path by which Linux shows a descriptor of this process. Content is written at its
    /// current offset, as with `>>`.
    private static func descriptor(_ path: String) -> Int32? {
        switch path {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default: break
        }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.utf8.starts(with: folder.utf8) {
            let digits = path.utf8.dropFirst(folder.utf8.count)
            if digits.allSatisfy({ (0x30...0x39).contains($0) }) { return Int32(Substring(digits)) }
        }
        return nil
    }

    /// - Parameter text: the escaped path, for messages.
    private static func checkStream(
        _ text: String, _ arguments: ParsedArguments, _ downloads: PullDownloads
    ) throws(UsageError) {
        guard downloads.only != nil else {
            throw arguments.error(
                "-o \(text) takes a single file; 'transfer cat' prints several, and -o DIR puts them into DIR")
        }
        let senseless =
            [PullFlags.json, PullFlags.isPreview].map(\.flag) + [PullFlags.failedTo.flag, ArchiveFlag.pull.flag]
        for flag in senseless + SelectionFlags.pull.all where arguments.isSet(flag) {
            throw arguments.error("\(flag.spelling) cannot be combined with -o \(text); use -o DIR")
        }
    }

    /// Whether the path is or must be a directory.
    private static func isDirectory(_ path: String) -> Bool {
        let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? [][...]
        guard !last.isEmpty, !last.elementsEqual(".".utf8), !last.elementsEqual("..".utf8) else { return true }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Splits the path of a file into its directory and its name.
    static func split(_ path: String) -> (directory: String, name: String) {
        let slash = UInt8(ascii: "/")
        guard let last = path.utf8.lastIndex(of: slash) else { return (".", path) }
        let name = String(path[path.utf8.index(after: last)...])
        return (last == path.startIndex ? "/" : String(path[..<last]), name)
    }
}
