import Testing

@testable import TransferCLI

@Suite struct FlagEffectTests {
    @Test func effectsSetWhatFlagsSay() throws {
        struct Subject {
            var size: UInt64 = 7
            var limit: UInt64? = 7
            var text = ""
        }
        var subject = Subject()
        let empty = try ArgumentParser.parse([], command: FlagKeysTests.command, environment: [:])
        let (size, limit): (FlagEffect<Subject>, FlagEffect<Subject>) = (
            FlagKeysTests.limit.size.sets(\.size), FlagKeysTests.limit.size.sets(\.limit)
        )
        try size(empty, on: &subject)
        try limit(empty, on: &subject)
        #expect(subject.size == 7 && subject.limit == nil)
        try size(FlagKeysTests.parse("2K"), on: &subject)
        try limit(FlagKeysTests.parse("2K"), on: &subject)
        #expect(subject.size == 2048 && subject.limit == 2048)
        let text: FlagEffect<Subject> = FlagKeysTests.limit.text(default: "x").sets { subject, text in
            subject.text = text + text
        }
        try text(empty, on: &subject)
        #expect(subject.text == "xx")
    }
}
