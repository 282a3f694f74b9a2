/// What a walk through directories, here or on a server, leaves out in one of them: by the rules, and by the ignore files of the directory and
/// of those above it.
struct WalkFilter: Sendable {
    private let rules: PathRules
    private let ignoreFileName: String?
    private var inherited = PathRules.Inherited()
    /// From the directory that is pushed or pulled; empty for that, and with a slash at its end otherwise.
    private var path = ""
    /// With the length of the path of each one's directory in code points, from the top down.
    private var ignoreFiles: [(file: IgnoreFile, depth: Int)] = []

    /// For the directory that is pushed or pulled.
    init(_ selection: Selection) {
        rules = PathRules(selection)
        ignoreFileName = selection.ignoreFile
    }

    /// Whether every file in the directory is sent.
    var sendsAll: Bool { rules.isEmpty && ignoreFiles.isEmpty }

    /// Whether a file in the directory is sent.
    func sends(_ name: String) -> Bool {
        guard !sendsAll else { return true }
        let path = path + name
        return rules.send(path, inherited) && !isIgnored(path, isDirectory: false)
    }

    /// What holds in a directory of the directory; nothing when nothing in it is sent.
    func entering(_ name: String) -> WalkFilter? {
        let path = path + name
        guard let inherited = rules.enter(path, inherited), !isIgnored(path, isDirectory: true) else { return nil }
        var filter = self
        filter.inherited = inherited
        filter.path = path + "/"
        return filter
    }

    /// The same with the ignore file of the directory.
    func reading(in directory: SourceDirectory) throws(IgnoreFile.Fault) -> WalkFilter {
        guard let ignoreFileName else { return self }
        var filter = self
        let file = try IgnoreFile(ignoreFileName, in: directory)
        filter.ignoreFiles.append((file, path.unicodeScalars.count))
        return filter
    }

    /// The nearest file that says something decides.
    private func isIgnored(_ path: String, isDirectory: Bool) -> Bool {
        guard !ignoreFiles.isEmpty else { return false }
        for (file, depth) in ignoreFiles.reversed() {
            let inner = Substring(path.unicodeScalars.dropFirst(depth))
            if let verdict = file.ignores(inner, isDirectory: isDirectory) { return verdict }
        }
        return false
    }
}
