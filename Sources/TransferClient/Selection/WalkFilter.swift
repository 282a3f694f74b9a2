/// Decides which entries of one directory a walk takes, here or on a server: by the rules, and by the ignore files of
/// the directory and of those above it.
struct WalkFilter: Sendable {
    private let rules: PathRules
    private let ignoreFileName: String?
    private var inherited = PathRules.Inherited()
    /// Path from the directory that is pushed or pulled, with a slash at its end; empty for that directory itself.
    private var path = ""
    /// Ignore files from the top down, each with its directory's path length in code points.
    private var ignoreFiles: [(file: IgnoreFile, depth: Int)] = []

    /// Makes the filter for the directory that is pushed or pulled.
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

    /// The filter for a subdirectory; nil if nothing in it is sent.
    func entering(_ name: String) -> WalkFilter? {
        let path = path + name
        guard let inherited = rules.enter(path, inherited), !isIgnored(path, isDirectory: true) else { return nil }
        var filter = self
        filter.inherited = inherited
        filter.path = path + "/"
        return filter
    }

    /// The same filter with the ignore file of the directory.
    func reading(in directory: SourceDirectory) throws(IgnoreFile.Fault) -> WalkFilter {
        guard let ignoreFileName else { return self }
        var filter = self
        let file = try IgnoreFile(ignoreFileName, in: directory)
        filter.ignoreFiles.append((file, path.unicodeScalars.count))
        return filter
    }

    /// Whether the ignore files exclude a path. The nearest ignore file that has a matching line decides.
    private func isIgnored(_ path: String, isDirectory: Bool) -> Bool {
        guard !ignoreFiles.isEmpty else { return false }
        for (file, depth) in ignoreFiles.reversed() {
            let inner = Substring(path.unicodeScalars.dropFirst(depth))
            if let verdict = file.ignores(inner, isDirectory: isDirectory) { return verdict }
        }
        return false
    }
}
