private import Glibc
private import TransferModel
private import TransferSystem

/// Changes the user's configuration file. All bytes that a change does not concern stay as they are.
struct ConfigurationEditor {
    private let path: String

    /// The path with symbolic links resolved: if the file is a link to another file, the link stays.
    private var target: String { CanonicalPath(path).string }

    init(_ path: String) {
        self.path = path
    }

    /// An editor of the user's file.
    ///
    /// - Throws: `UsageError` if the user has no configuration folder.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard let path = Environment.configurationFile else {
            throw arguments.error(
                "there is nowhere to keep a configuration: \(ConfigurationFolder.absence.escapedForDisplay)")
        }
        self.init(path)
    }

    /// The content of the file; empty if it does not exist.
    func content() throws(ConfigurationFault) -> [UInt8] { try Environment.content(of: path) ?? [] }

    /// The remotes, in the order of the file.
    func remotes() throws(ConfigurationFault) -> [Remote] { try checked(content()).remotes }

    /// The content with a remote added.
    func adding(_ draft: RemoteDraft, to content: [UInt8]) throws(ConfigurationFault) -> [UInt8] {
        let path = [Remote.table, draft.name]
        let present = try ConfigurationFile.document(content, path: self.path)
        if let line = present[path]?.line {
            throw ConfigurationFault(
                Setting.Place(path: self.path, line: line),
                "remote '\(draft.name)' already exists; 'transfer remote remove \(draft.name)' removes it")
        }
        let changed = TOMLEditing.adding(path, draft.entries, to: content)
        guard changed.count <= ConfigurationFile.longest else {
            throw ConfigurationFault(self.path, "would become longer than \(ConfigurationFile.longest) bytes")
        }
        _ = try checked(changed)
        return changed
    }

    /// The content without a remote; nil if the file does not have the remote. Other remotes in the file may be
    /// invalid.
    func removing(_ name: String, from content: [UInt8]) throws(ConfigurationFault) -> [UInt8]? {
        let document = try ConfigurationFile.document(content, path: path)
        guard let table = document[[Remote.table, name]] else { return nil }
        return TOMLEditing.removing(table, from: content)
    }

    /// Replaces the file atomically. A lock makes concurrent changes wait for each other.
    ///
    /// - Parameter change: returns the new content; nil to leave the file as it is.
    func change(_ change: ([UInt8]) throws(ConfigurationFault) -> [UInt8]?) throws(ConfigurationFault) {
        let outcome: Result<Void, ConfigurationFault>
        do throws(SystemError) {
            let target = target
            let folder = OwnFile.folder(of: target)
            try OwnFile.makeFolder(folder)
            outcome = try OwnFile.withLock(on: folder) { () throws(SystemError) in
                let changed = Result { () throws(ConfigurationFault) in try change(content()) }
                if case .success(let bytes?) = changed { _ = try OwnFile.write(bytes, to: target, replaces: true) }
                return changed.map { _ in }
            }
        } catch {
            throw ConfigurationFault(path, "cannot be written: \(error.reason)")
        }
        try outcome.get()
    }

    private func checked(_ content: [UInt8]) throws(ConfigurationFault) -> ConfigurationFile {
        try ConfigurationFile(content, path: path, home: Environment.value(of: "HOME"))
    }
}
