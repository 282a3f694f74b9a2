private import CLinux
private import Glibc
internal import TransferClient
internal import TransferModel
internal import TransferProtocol
internal import TransferSystem

/// The list of failures for `--failed-to`, in a form that another push or pull can read. It is written at the end: the
/// file may be the list that the command itself reads.
///
/// `@unchecked Sendable`: made by the command, then used by its reporter alone.
final class FailedList: @unchecked Sendable {
    /// The format of the list.
    enum Form {
        /// A list for `--files-from`: paths, each of which ends with this byte.
        case paths(end: UInt8)
        /// A list for `--manifest`. The value has the kinds from the manifest of this push; it is empty for a pull.
        case manifest([PathKey: ContentKind])

        /// A list for `--files-from`, with the separator that `--null` chooses.
        static func paths(_ arguments: ParsedArguments) -> Form {
            .paths(end: arguments[ClientFlags.null] ? 0 : UInt8(ascii: "\n"))
        }
    }

    /// The path of the file that `--failed-to` names.
    let path: String

    /// Opens the list that `--failed-to` names.
    ///
    /// - Throws: `UsageError` if the file cannot be opened for writing.
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
    /// The folder in the server's address, with a slash at its end unless it is empty. It is removed from listed names,
    /// because the next push adds it again.
    private let folder: String
    private var lines: [(source: String?, bytes: [UInt8])] = []
    /// Folders of an archive that failed. The line of such a folder stands for everything in it.
    private var folders: Set<PathKey> = []
    /// The number of failed paths that are not in the list, because they contain the separator.
    private var unlisted = 0
    /// Sources that have a result. If the command ends early, the other sources are added to the list.
    private var settled: Set<PathDigest> = []

    /// Opens the file, and creates it if it is missing. Its content stays until the list is written.
    init(_ path: String, _ form: Form, folder: String) throws(SystemError) {
        descriptor = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666) })
        self.path = path
        self.form = form
        self.folder = folder.isEmpty ? "" : folder + "/"
    }

    private var isEmpty: Bool { lines.isEmpty }

    /// Records the result of a download.
    ///
    /// - Parameter target: the path below the target directory.
    func settle(_ source: String, to target: String?, hasFailed: Bool) {
        let isNew = settled.insert(Self.digest(source, target)).inserted
        guard hasFailed, isNew else { return }
        // An empty path is the top folder of the server.
        let path = source.isEmpty ? "/" : source
        switch form {
        case .paths: append(Array((target.flatMap { PathList.entry(for: path, storedAs: $0) } ?? path).utf8))
        case .manifest: appendLine(path, target)
        }
    }

    /// Records the result of an upload.
    func settle(_ report: UploadReport, hasFailed: Bool) {
        guard report.isPath else { return }
        let isNew = settled.insert(Self.digest(report.source, report.destination)).inserted
        if hasFailed, isNew { append(report.source, report.destination, isFolder: report.form == .folder) }
    }

    /// Adds the uploads that have no result because the push ended early.
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

    /// Adds a line in the format of a manifest.
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

    /// Adds a line without its end.
    ///
    /// - Parameter source: the path to which the line belongs; nil if it cannot be used as a path.
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

    /// The result of writing the list, with a line to print.
    enum Ending {
        case lost(String)
        case written(String)
        case empty
    }

    /// Replaces the content of the file with the list.
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

    /// Writes the list, as `close` does, but without a line to print.
    func write() throws(SystemError) {
        let number = descriptor.number
        // A pipe cannot be truncated (EINVAL).
        if ftruncate(number, 0) != 0, errno != EINVAL { throw SystemError(errno: errno, call: "ftruncate") }
        // Entries in a listed folder are left out: the folder's line includes them.
        let content = lines.filter { line in line.source.map { !isInFolder($0) } ?? true }.flatMap(\.bytes)
        try writeAll(content, to: number)
    }

    /// The list entry for a path that is stored under a name. If the path does not end in the name, because of links or
    /// `..`, the resolved path is used.
    private static func entry(_ path: String, _ name: String) -> String? {
        if let entry = PathList.entry(for: path, storedAs: name) { return entry }
        if let entry = PathList.entry(for: path.absolutePath, storedAs: name) { return entry }
        guard let resolved = realpath(OwnFile.folder(of: path), nil) else { return nil }
        defer { free(resolved) }
        let file = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        return PathList.entry(for: "\(String(cString: resolved))/\(file)", storedAs: name)
    }

    /// The kind that the manifest gives the name, or else the closest folder above it: the kind of a folder applies to
    /// everything in it.
    private static func kind(of name: String, _ kinds: [PathKey: ContentKind]) -> ContentKind? {
        var name = name
        while true {
            if let kind = kinds[PathKey(name)] { return kind }
            guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            name = String(name[..<slash])
        }
    }
}
