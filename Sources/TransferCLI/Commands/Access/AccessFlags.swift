internal import TransferAccess
internal import TransferModel

extension ParsedArguments {
    /// The folder of the server that the command is about.
    var accessFolder: AccessFolder {
        get throws(UsageError) { AccessFolder(of: try requiredString("dir")) }
    }

    /// The bounds that flags set.
    ///
    /// - Parameter rights: what a client may do where no flag says so.
    func accessOptions(at now: UTCTime, rights: AccessRights = .readWrite) throws(UsageError) -> AccessOptions {
        var options = AccessOptions()
        if let folder = string("folder") { options.folder = try path(folder, of: "folder") }
        if isSet("quota") { options.quota = try size("quota") }
        if isSet("max-upload") { options.maximumUpload = try size("max-upload") }
        options.rights = try rightsByFlag ?? rights
        return options
    }

    private var rightsByFlag: AccessRights? {
        get throws(UsageError) {
            let all: [(String, AccessRights)] = [
                ("allow-remove", .readWrite), ("no-remove", .noRemove), ("read-only", .readOnly),
                ("write-only", .writeOnly),
            ]
            // What one command gives by itself, another has to be told.
            let given = all.filter { command.flag(named: $0.0) != nil && isSet($0.0) }
            guard given.count <= 1 else { throw error("'--\(given[0].0)' and '--\(given[1].0)' exclude each other") }
            return given.first?.1
        }
    }

    /// When access ends, by the flag for that.
    func expiry(at now: UTCTime) throws(UsageError) -> UTCTime? {
        guard let text = string("expires") else { return nil }
        if let time = UTCTime(text) {
            guard time > now else { throw error("'--expires': that time is over") }
            return time
        }
        let seconds = try duration("expires")
        guard seconds >= 1 else { throw error("'--expires' must be a second at least") }
        return now.advanced(bySeconds: Int64(seconds))
    }

    /// A name for people.
    func accessName(_ text: String) throws(UsageError) -> String {
        do throws(AccessFault) {
            try AccessLine.check(text)
            return text
        } catch {
            throw self.error("'\(text.escapedForDisplay)' cannot be a name: \(error.message)")
        }
    }

    /// The one operand.
    func onlyOperand(_ wanted: String) throws(UsageError) -> String {
        guard operands.count == 1 else { throw error("give \(wanted)") }
        return operands[0]
    }

    private func path(_ text: String, of flag: String) throws(UsageError) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try RelativePath(String(Substring(text.utf8.drop { $0 == UInt8(ascii: "/") })))
        } catch {
            throw self.error("'--\(flag)': \(error.message)")
        }
    }
}
