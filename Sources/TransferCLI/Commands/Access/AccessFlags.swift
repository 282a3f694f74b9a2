internal import TransferAccess
internal import TransferModel

/// Flags that several commands of `transfer access` have.
enum AccessFlags {
    static let json = Flag(name: "json", help: "Print one JSON object per line for every entry.").isOn

    static let issuedJSON = Flag(name: "json", help: "Print one JSON object, which contains the secret.").isOn

    /// - Parameter help: the sentence that the help shows for the flag.
    static func name(_ help: String) -> FlagKey<String?, UsageError> {
        FlagKey(Flag(name: "name", placeholder: "NAME", help: help)) { (arguments, flag) throws(UsageError) in
            guard let text = arguments[flag.text] else { return nil }
            do throws(AccessFault) {
                try AccessLine.check(text)
                return text
            } catch {
                throw arguments.error("'\(text.escapedForDisplay)' cannot be a name: \(error.message)")
            }
        }
    }

    // MARK: Bounds

    static let bounds = limits.map(\.flag) + [readOnly.flag, writeOnly.flag]

    static let allowRemove = Flag(
        name: "allow-remove", help: "Also allow it to remove and replace what others have stored."
    ).isOn

    static let noRemove = Flag(
        name: "no-remove", help: "Allow it to push and read, but not to remove or replace what others have stored."
    ).isOn

    private static let readOnly = Flag(name: "read-only", help: "Allow it to read, but not to push.").isOn

    private static let writeOnly = Flag(name: "write-only", help: "Allow it to push, but not to read.").isOn

    private static let limits: [FlagEffect<AccessOptions>] = [
        folder.sets(\.folder),
        Flag(
            name: "quota", placeholder: "SIZE", help: "Limit what it can store to SIZE.",
            details: SizeNotation.description + " Each file and folder counts 4 KiB in addition to its content."
        ).size.sets(\.quota),
        maximumFiles.sets(\.maximumFiles),
        Flag(name: "max-upload", placeholder: "SIZE", help: "Refuse its uploads larger than SIZE.").size
            .sets(\.maximumUpload),
        mailFrom.sets(\.mailFrom),
    ]

    private static let maximumFiles = FlagKey<UInt64?, UsageError>(
        Flag(name: "max-files", placeholder: "N", help: "Limit its files, folders and links to N.")
    ) { (arguments, flag) throws(UsageError) in
        try arguments.values(of: flag).last.map { (text) throws(UsageError) in
            UInt64(try arguments.count(text, of: flag, in: 0...Int.max))
        }
    }

    private static let mailFrom = FlagKey<[String]?, UsageError>(
        Flag(
            name: "mail-from", placeholder: "NAMES", help: "Accept deliveries to its mailbox only from NAMES.",
            details:
                "Names separated by commas; an empty value accepts none. By default, deliveries from "
                + "everyone are accepted."
        )
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        do throws(AccessFault) {
            return try AccessOptions([(name: flag.name, value: text)]).mailFrom
        } catch {
            throw arguments.error("'\(flag.spelling)': \(error.message)")
        }
    }

    private static let folder = FlagKey<RelativePath?, UsageError>(
        Flag(
            name: "folder", placeholder: "FOLDER", help: "Restrict it to FOLDER below the server's directory.",
            details: "It sees FOLDER as the top, and nothing else.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        do throws(AccessFault) {
            try AccessOptions.check(folder: text)
        } catch {
            throw arguments.error("'\(flag.spelling)': \(error.message)")
        }
        do throws(RelativePath.Fault) {
            return try RelativePath(String(Substring(text.utf8.drop { $0 == UInt8(ascii: "/") })))
        } catch {
            throw arguments.error("'\(flag.spelling)': \(error.message)")
        }
    }

    /// The rights and limits that the flags set.
    ///
    /// - Parameter rights: the rights if no flag sets them.
    static func options(
        _ arguments: ParsedArguments, rights: AccessRights = .readWrite
    ) throws(UsageError) -> AccessOptions {
        var options = AccessOptions()
        for limit in limits { try limit(arguments, on: &options) }
        options.rights = try Self.rights(arguments) ?? rights
        return options
    }

    private static func rights(_ arguments: ParsedArguments) throws(UsageError) -> AccessRights? {
        let all: [(FlagKey<Bool, Never>, AccessRights)] = [
            (allowRemove, .readWrite), (noRemove, .noRemove), (readOnly, .readOnly), (writeOnly, .writeOnly),
        ]
        // Commands have different default rights, and each command has only the flags for other rights.
        let given = all.filter { arguments[$0.0, default: false] }
        guard given.count <= 1 else {
            throw arguments.error(
                "'\(given[0].0.flag.spelling)' and '\(given[1].0.flag.spelling)' exclude each other")
        }
        return given.first?.1
    }

    // MARK: Expiry

    /// The time at which access ends; nil if the flag is not given.
    static let expires = FlagKey<UTCTime?, UsageError>(
        Flag(
            name: "expires", placeholder: "WHEN", help: "End its access at WHEN.",
            details: "A duration from now, such as 30d, or a time in UTC, such as 2026-12-31T00:00:00Z or 2026-12-31.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        let now = UTCTime.now
        if let time = UTCTime(text) {
            guard time > now else { throw arguments.error("'\(flag.spelling)': that time is in the past") }
            return time
        }
        let seconds = try arguments.duration(text, of: flag)
        guard seconds >= 1 else { throw arguments.error("'\(flag.spelling)' must be at least a second") }
        return now.advanced(bySeconds: Int64(seconds))
    }

    // MARK: Exit codes

    static let outcomes: [Command.Outcome] = [
        .init(.success, "the command succeeded"), .init(.uploadsFailed, "the command failed"), .init(.usage),
    ]

    static let listOutcomes: [Command.Outcome] = [
        .init(.success, "all lines were read"),
        .init(.uploadsFailed, "a line or the whole file is invalid and admits no client"),
        .init(.usage),
    ]
}
