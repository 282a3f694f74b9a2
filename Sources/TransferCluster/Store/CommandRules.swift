import TransferModel
import TransferPorts

/// What this server remembers of commands of clients, so that they do not replace what they have stored themselves, and
/// so that content of a lost connection does not replace what a newer one has stored. It is lost with the server.
///
/// Other servers see the command of a file in its row (`FileRow.command`).
struct CommandRules: Sendable {
    var overwrites = Overwrites()
    var commands = CommandFiles()

    /// - Throws: `aborted`, or `pathConflict` if the command of the publication has stored the file that it would replace.
    func check(_ publication: Publication, _ there: NodeRow, _ path: RelativePath) throws(Failure) {
        try overwrites.check(publication)
        try check(there, publication.command, path)
    }

    /// - Throws: `pathConflict` if the command has stored or moved the file that it would replace.
    func check(_ there: NodeRow, _ command: StoringCommand?, _ path: RelativePath) throws(Failure) {
        guard let command, let file = there.file else { return }
        if let other = try commands.check(there.version, hasOtherNames: false, command, path) {
            throw .ownFile(other)
        }
        // A file that another server has stored for the same command has kept its path, unless the command has moved
        // it, which only its own server knows.
        guard file.command == command.id, !command.mayRepeat else { return }
        throw .ownFile(path)
    }
}
