internal import TransferClient
private import TransferModel
private import TransferSystem

/// What of directories and lists a push or a pull leaves out.
struct SelectionFlags: Sendable {
    static let push = SelectionFlags(
        verb: "Send", participle: "sent", patterns: "--include and --exclude", others: [ignoreFiles])

    static let pull = SelectionFlags(verb: "Fetch", participle: "fetched", patterns: "PATH, --include and --exclude")

    let all: [Flag]

    private let include: FlagKey<[String], Never>
    private let exclude: FlagKey<[String], Never>
    private let others: [FlagEffect<Selection>]

    /// - Parameters:
    ///   - verb: what is done with files, at the start of a sentence.
    ///   - participle: what is done with files.
    ///   - patterns: what `--ignore-case` is for.
    ///   - others: flags that make sense in this direction only.
    private init(verb: String, participle: String, patterns: String, others: [FlagEffect<Selection>] = []) {
        let ignoreCase: FlagEffect<Selection> = Flag(
            name: "ignore-case", help: "Let \(patterns) match whatever the case of letters is.",
            details: "Then *.jpg also stands for what a camera calls IMG_1.JPG."
        ).isOn.sets(\.ignoresCase)
        include =
            Flag(
                name: "include", placeholder: "GLOB", help: "\(verb) the files that match.",
                details:
                    "The first --include or --exclude that matches decides. What none matches is \(participle), unless all "
                    + "are --include. In a pattern, * and ? stand for anything but a slash, [a-z] for one of several "
                    + "characters, ** for directories. A slash in front makes it match from the directory that is "
                    + "\(participle), otherwise it matches from any component of a path on; one at the end makes it match "
                    + "directories."
            ).texts
        exclude =
            Flag(
                name: "exclude", placeholder: "GLOB",
                help: "Leave out the files that match, and all in directories that match.",
                details: "A file that an earlier --include matches is \(participle) all the same."
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
            throw arguments.error("--min-size is more than --max-size, which leaves no file; give a smaller one")
        }
        return selection
    }
}

extension SelectionFlags {
    private static let ignoreFiles: FlagEffect<Selection> = Flag(
        name: "no-ignore", help: "Send also what .transferignore files leave out.",
        details: "They stand in directories that are sent, and are written as .gitignore files are."
    ).isOn.sets { selection, isOn in selection.ignoreFile = isOn ? nil : Selection.defaultIgnoreFile }

    private static let leastSize: FlagEffect<Selection> = Flag(
        name: "min-size", placeholder: "SIZE", help: "Leave out files that are smaller.",
        details: SizeNotation.description
    ).size.sets(\.minimumSize)

    private static let mostSize: FlagEffect<Selection> = Flag(
        name: "max-size", placeholder: "SIZE", help: "Leave out files that are larger.",
        details: SizeNotation.description
    ).size.sets(\.maximumSize)

    private static let newer = bound.sets { (selection: inout Selection, bound) in
        selection.modifiedAfter = bound.map { ($0.seconds, $0.nanoseconds) }
    }

    private static let bound = FlagKey<ModificationBound?, UsageError>(
        Flag(
            name: "newer", placeholder: "WHEN", help: "Leave out files that were not modified after WHEN.",
            details:
                "A duration before now, such as 7d; a date, such as 2026-01-31 or 2026-01-31T18:30:00Z, without the Z in "
                + "local time; or a file, whose time of modification counts. A file that is called so is ./7d.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        do throws(ModificationBound.Fault) {
            return try ModificationBound(text, now: utcNanoseconds())
        } catch {
            throw arguments.error("\(flag.spelling): '\(text.escapedForDisplay)' \(error.message)")
        }
    }
}
