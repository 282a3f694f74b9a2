internal import TransferClient
private import TransferModel
private import TransferSystem

/// The flags that select which files of directories and lists a push or a pull transfers.
struct SelectionFlags: Sendable {
    static let push = SelectionFlags(
        verb: "Send", participle: "sent", patterns: "--include and --exclude", others: [ignoreFiles])

    static let pull = SelectionFlags(verb: "Fetch", participle: "fetched", patterns: "PATH, --include and --exclude")

    let all: [Flag]

    private let include: FlagKey<[String], Never>
    private let exclude: FlagKey<[String], Never>
    private let others: [FlagEffect<Selection>]

    /// - Parameters:
    ///   - verb: the imperative for the help, as `Send`.
    ///   - participle: the participle for the help, as `sent`.
    ///   - patterns: the flags and operands to which `--ignore-case` applies.
    ///   - others: flags that make sense only for this direction.
    private init(verb: String, participle: String, patterns: String, others: [FlagEffect<Selection>] = []) {
        let ignoreCase: FlagEffect<Selection> = Flag(
            name: "ignore-case", help: "Ignore case in \(patterns).",
            details: "For example, *.jpg then also matches IMG_1.JPG."
        ).isOn.sets(\.ignoresCase)
        include =
            Flag(
                name: "include", placeholder: "GLOB", help: "\(verb) files that match GLOB.",
                details:
                    "The first --include or --exclude that matches decides. Files that match none are "
                    + "\(participle), unless there are only --include rules. In a pattern, * and ? match "
                    + "anything but a slash, [a-z] one of several characters, ** directories. A leading "
                    + "slash anchors the pattern at the directory that is \(participle); otherwise it can "
                    + "match from any component of a path on. A trailing slash makes it match directories."
            ).texts
        exclude =
            Flag(
                name: "exclude", placeholder: "GLOB",
                help: "Exclude files that match GLOB, and everything in directories that match.",
                details: "A file that matches an earlier --include is still \(participle)."
            ).texts
        self.others = [ignoreCase] + others + [Self.leastSize, Self.mostSize, Self.newer]
        all = [include.flag, exclude.flag] + self.others.map(\.flag)
    }

    func selection(_ arguments: ParsedArguments) throws(UsageError) -> Selection {
        var selection = Selection()
        for (name, value) in arguments.inOrder([include.flag, exclude.flag]) {
            do throws(PathRule.Fault) {
                selection.rules.append(try PathRule(name == include.flag.name ? .include : .exclude, value))
            } catch {
                throw arguments.error("--\(name): \(error.message)")
            }
        }
        for effect in others { try effect(arguments, on: &selection) }
        if let least = selection.minimumSize, let most = selection.maximumSize, least > most {
            throw arguments.error("--min-size is greater than --max-size, so no file would be left")
        }
        return selection
    }
}

extension SelectionFlags {
    private static let ignoreFiles: FlagEffect<Selection> = Flag(
        name: "no-ignore", help: "Also send what .transferignore files exclude.",
        details: "They are read in directories that are sent, and have the syntax of .gitignore files."
    ).isOn.sets { selection, isOn in selection.ignoreFile = isOn ? nil : Selection.defaultIgnoreFile }

    private static let leastSize: FlagEffect<Selection> = Flag(
        name: "min-size", placeholder: "SIZE", help: "Exclude files smaller than SIZE.",
        details: SizeNotation.description
    ).size.sets(\.minimumSize)

    private static let mostSize: FlagEffect<Selection> = Flag(
        name: "max-size", placeholder: "SIZE", help: "Exclude files larger than SIZE.",
        details: SizeNotation.description
    ).size.sets(\.maximumSize)

    private static let newer = bound.sets { (selection: inout Selection, bound) in
        selection.modifiedAfter = bound.map { ($0.seconds, $0.nanoseconds) }
    }

    private static let bound = FlagKey<ModificationBound?, UsageError>(
        Flag(
            name: "newer", placeholder: "WHEN", help: "Exclude files that were not modified after WHEN.",
            details:
                "WHEN is a duration before now, such as 7d; a date, such as 2026-01-31 or "
                + "2026-01-31T18:30:00Z, in local time without the Z; or a file, whose modification time "
                + "is used. For a file named 7d write ./7d.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        do throws(ModificationBound.Fault) {
            return try ModificationBound(text, now: utcNanoseconds())
        } catch {
            throw arguments.error("\(flag.spelling): '\(text.escapedForDisplay)' \(error.message)")
        }
    }
}
