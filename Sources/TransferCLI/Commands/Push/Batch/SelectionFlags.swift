internal import TransferClient
private import TransferModel
private import TransferSystem

/// What of directories and lists a push leaves out.
enum SelectionFlags {
    static let all = [include.flag, exclude.flag] + others.map(\.flag)

    private static let include = Flag(
        name: "include", placeholder: "GLOB", help: "Send the files that match.",
        details: "The first --include or --exclude that matches decides. What none matches is sent, unless all are "
            + "--include. In a pattern, * and ? stand for anything but a slash, [a-z] for one of several characters, ** for "
            + "directories. A slash in front makes it match from the directory that is sent, otherwise it matches from any "
            + "component of a path on; one at the end makes it match directories."
    ).texts

    private static let exclude = Flag(
        name: "exclude", placeholder: "GLOB",
        help: "Leave out the files that match, and all in directories that match.",
        details: "A file that an earlier --include matches is sent all the same."
    ).texts

    private static let others: [FlagEffect<Selection>] = [
        Flag(
            name: "no-ignore", help: "Send also what .transferignore files leave out.",
            details: "They stand in directories that are sent, and are written as .gitignore files are."
        ).isOn.sets { selection, isOn in selection.ignoreFile = isOn ? nil : Selection.defaultIgnoreFile },
        Flag(
            name: "min-size", placeholder: "SIZE", help: "Leave out files that are smaller.",
            details: SizeNotation.description
        ).size.sets(\.minimumSize),
        Flag(
            name: "max-size", placeholder: "SIZE", help: "Leave out files that are larger.",
            details: SizeNotation.description
        ).size.sets(\.maximumSize),
        newer.sets { selection, bound in selection.modifiedAfter = bound.map { ($0.seconds, $0.nanoseconds) } },
    ]

    private static let newer = FlagKey<ModificationBound?, UsageError>(
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

    static func selection(_ arguments: ParsedArguments) throws(UsageError) -> Selection {
        var selection = Selection()
        for (name, value) in arguments.inOrder([include.flag, exclude.flag]) {
            do throws(PathRule.Fault) {
                selection.rules.append(try PathRule(name == include.flag.name ? .include : .exclude, value))
            } catch {
                throw arguments.error("--\(name): \(error.message)")
            }
        }
        for effect in others { try effect(arguments, on: &selection) }
        return selection
    }
}
