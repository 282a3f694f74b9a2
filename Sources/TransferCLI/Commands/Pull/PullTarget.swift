private import CLinux
private import Glibc
private import TransferModel
private import TransferSystem

/// Where a pull puts things: what `--output` says.
enum PullTarget: Equatable {
    case standardOutput
    /// A descriptor that the program was started with.
    case descriptor(Int32, String)
    /// What is there and is neither a file nor a directory: a device, a FIFO.
    case stream(String)
    case directory(String)
    /// A directory, or the file itself where what is pulled is one file.
    case either(String)

    /// - Throws: `UsageError` for what makes no sense with standard output, or with what is like it.
    init(_ arguments: ParsedArguments, _ downloads: PullDownloads) throws(UsageError) {
        let path = arguments[PullFlags.output]
        if let stream = Self.place(of: path) {
            try Self.checkStream(path.escapedForDisplay, arguments, downloads)
            self = stream
        } else {
            self = downloads.only == nil || Self.isDirectory(path) ? .directory(path) : .either(path)
        }
    }

    /// What takes the content in the place of files, if something does.
    ///
    /// - Throws: `UsageError` when it cannot be written to.
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

    /// What Linux shows the descriptors of a process as. Whatever it is that is open, content goes where it stands, as with `>>`.
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

    /// - Parameter text: of it.
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
