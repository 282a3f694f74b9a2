private import CLinux
private import Glibc
internal import TransferClient
internal import TransferModel
internal import TransferProtocol
internal import TransferSystem

/// What failed, written so that another push or pull can take it. Written when it ends: its file may be the very list that it
/// works on.
///
/// `@unchecked Sendable`: made by the command, then used by its reporter alone.
final class FailedList: @unchecked Sendable {
    /// What takes the list.
    enum Form {
        /// `--files-from`.
        case paths(end: UInt8)
        /// `--manifest`, with the kinds that the manifest of this push gave; none of a pull.
        case manifest([PathKey: ContentKind])

        /// `--files-from` with the flags of the same command.
        static func paths(_ arguments: ParsedArguments) -> Form {
            .paths(end: arguments[ClientFlags.null] ? 0 : UInt8(ascii: "\n"))
        }
    }

    /// Of its file.
    let path: String

    /// Opens the list that `--failed-to` names.
    ///
    /// - Throws: `UsageError` when it cannot be written.
    convenience init?(
        _ key: FlagKey<String?, Never>, _ arguments: ParsedArguments, _ form: Form, folder: String = ""
    ) throws(UsageError) {
        guard let path = arguments[key] else { return nil }
        do throws(SystemError) {
            try self.init(path, form, folder: folder)
        } catch {
            throw arguments.error("cannot open '\(path.escapedForDisplay)' for the list of failures: \(error.reason)")
        }
    }

    private let descriptor: Descriptor
    private let form: Form
    /// The server's folder, which the other push is given as well; with a slash at its end unless it is empty.
    private let folder: String
    private var lines: [(source: String?, bytes: [UInt8])] = []
    /// Of an archive: each stands for all that is in it.
    private var folders: Set<PathKey> = []
    /// Paths that the form of the list cannot hold: what reads it would take each for several.
    private var unlisted = 0
    /// What is stored or in the list; kept because a push that ends early has more to list than failed.
    private var settled: Set<PathDigest> = []

    /// Opens the file, making it where it is missing; what it holds stays for now.
    init(_ path: String, _ form: Form, folder: String) throws(SystemError) {
        descriptor = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666) })
        self.path = path
        self.form = form
        self.folder = folder.isEmpty ? "" : folder + "/"
    }

    private var isEmpty: Bool { lines.isEmpty }

    /// Takes note of what came of a download.
    ///
    /// - Parameter target: where it would be, below the directory that is pulled to.
    func settle(_ source: String, to target: String?, hasFailed: Bool) {
        let isNew = settled.insert(Self.digest(source, target)).inserted
        guard hasFailed, isNew else { return }
        // The server's own folder.
        let path = source.isEmpty ? "/" : source
        switch form {
        case .paths: append(Array((target.flatMap { PathList.entry(for: path, storedAs: $0) } ?? path).utf8))
        case .manifest: appendLine(path, target)
        }
    }

    /// Takes note of what came of an upload.
    func settle(_ report: UploadReport, hasFailed: Bool) {
        guard report.isPath else { return }
        let isNew = settled.insert(Self.digest(report.source, report.destination)).inserted
        if hasFailed, isNew { append(report.source, report.destination, isFolder: report.form == .folder) }
    }

    /// Adds what has no result, because the push ended before.
    func append(rest plan: UploadPlan) {
        for step in plan {
            switch step {
            case .upload(let source, let destination, _, isFile: true):
                guard settled.insert(Self.digest(source, destination)).inserted else { continue }
                append(source, destination)
            case .upload: break
            case .entry(let form, let source, let destination):
                guard settled.insert(Self.digest(source, destination)).inserted else { continue }
                append(source, destination, isFolder: form == .folder)
            case .failure(let report):
                settle(report, hasFailed: report.result != .sourceSkipped || report.isNamed)
            }
        }
    }

    private static func digest(_ source: String, _ destination: String?) -> PathDigest {
        PathDigest(destination.map { "\(source)\0\($0)" } ?? source)
    }

    private func append(_ source: String, _ destination: String?, isFolder: Bool = false) {
        if isFolder { folders.insert(PathKey(source)) }
        let name = destination.map { name in
            name.utf8.starts(with: folder.utf8) ? String(Substring(name.utf8.dropFirst(folder.utf8.count))) : name
        }
        switch form {
        case .paths: append(Array((name.flatMap { Self.entry(source, $0) } ?? source).utf8), of: source)
        case .manifest: appendLine(source, name)
        }
    }

    /// Adds a line of a manifest.
    private func appendLine(_ path: String, _ name: String?) {
        var line: JSONLine = ["path": .string(path)]
        if let name {
            line.append("name", .string(name))
            if case .manifest(let kinds) = form, let kind = Self.kind(of: name, kinds) {
                line.append("kind", .string(kind.name))
            }
        }
        append(Array(line.text.utf8), of: path)
    }

    /// Adds a line as it is.
    ///
    /// - Parameter source: whose line it is.
    func append(_ line: [UInt8], of source: String? = nil) {
        let end = if case .paths(let end) = form { end } else { UInt8(ascii: "\n") }
        guard !line.contains(end) else {
            unlisted += 1
            return
        }
        lines.append((source, line + [end]))
    }

    private func isInFolder(_ source: String) -> Bool {
        guard !folders.isEmpty else { return false }
        return source.utf8.indices.contains { index in
            source.utf8[index] == UInt8(ascii: "/") && folders.contains(PathKey(String(source[..<index])))
        }
    }

    /// What became of the list; a line for people.
    enum Ending {
        case lost(String)
        case written(String)
        case empty
    }

    /// Writes the list in place of what the file held.
    func close() -> Ending {
        let shown = path.escapedForDisplay
        do throws(SystemError) {
            try write()
        } catch {
            return .lost("cannot write the list of failures to '\(shown)': \(error.reason)")
        }
        guard unlisted == 0 else {
            let others = isEmpty ? "" : "; the other failures are listed there"
            return .lost(
                "cannot list \(unlisted == 1 ? "a path" : "\(unlisted) paths") that failed in "
                    + "'\(shown)', because of line feeds in names; use --null\(others)")
        }
        return isEmpty ? .empty : .written("failures are listed in '\(shown)'")
    }

    /// As it is done by `close`.
    func write() throws(SystemError) {
        let number = descriptor.number
        // What is no file, such as a pipe, has nothing to cut off.
        if ftruncate(number, 0) != 0, errno != EINVAL { throw SystemError(errno: errno, call: "ftruncate") }
        // What is in a folder that is listed would be sent twice.
        let content = lines.filter { line in line.source.map { !isInFolder($0) } ?? true }.flatMap(\.bytes)
        try writeAll(content, to: number)
    }

    /// How a path is listed so that it is stored in the same place again. Where links or `..` hide that the path ends so, the
    /// file system tells.
    private static func entry(_ path: String, _ name: String) -> String? {
        if let entry = PathList.entry(for: path, storedAs: name) { return entry }
        if let entry = PathList.entry(for: path.absolutePath, storedAs: name) { return entry }
        guard let resolved = realpath(OwnFile.folder(of: path), nil) else { return nil }
        defer { free(resolved) }
        let file = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        return PathList.entry(for: "\(String(cString: resolved))/\(file)", storedAs: name)
    }

    /// Of a directory, all that is in it has the kind.
    private static func kind(of name: String, _ kinds: [PathKey: ContentKind]) -> ContentKind? {
        var name = name
        while true {
            if let kind = kinds[PathKey(name)] { return kind }
            guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            name = String(name[..<slash])
        }
    }
}
