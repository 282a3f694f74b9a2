internal import TransferClient
private import TransferModel
private import TransferSystem

extension Selection {
    /// What the flags choose.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.init()
        ignoreFile = arguments.isSet("no-ignore") ? nil : Self.defaultIgnoreFile
        for (flag, value) in arguments.inOrder(["include", "exclude"]) {
            do throws(PathRule.Fault) {
                rules.append(try PathRule(flag == "include" ? .include : .exclude, value))
            } catch {
                throw arguments.error("--\(flag): \(error.message)")
            }
        }
        if arguments.isSet("min-size") { minimumSize = try arguments.size("min-size") }
        if arguments.isSet("max-size") { maximumSize = try arguments.size("max-size") }
        if let text = arguments.string("newer") { modifiedAfter = try Self.bound(text, arguments) }
    }

    private static func bound(
        _ text: String, _ arguments: ParsedArguments
    ) throws(UsageError) -> (seconds: Int64, nanoseconds: UInt32) {
        do throws(ModificationBound.Fault) {
            let bound = try ModificationBound(text, now: utcNanoseconds())
            return (bound.seconds, bound.nanoseconds)
        } catch {
            throw arguments.error("--newer: '\(text.escapedForDisplay)' \(error.message)")
        }
    }
}
