import Testing

@Suite(.ownThreads) struct HelpRunTests {
    @Test(arguments: [
        ["--help"], ["-h"], ["help"], ["help", "push"], ["help", "serve"], ["serve", "--help"],
        ["serve", "--config", "/nonexistent", "--help"],
    ])
    func isPrinted(_ arguments: [String]) throws {
        let finished = try Finished(arguments, Surroundings(environment: [:]))
        #expect(finished.end == .exited(0) && finished.errors == "")
        #expect(finished.output.contains("Usage: transfer ") && finished.output.hasSuffix("\n"))
        #expect(finished.lines.allSatisfy { $0.utf8.count <= 80 })
    }

    @Test func isTheSameByEveryWay() throws {
        #expect(try Finished(["push", "-h"]).output == Finished(["push", "--help"]).output)
        #expect(try Finished(["push", "a", "--help"]).output == Finished(["--help", "push"]).output)
        #expect(try Finished(["--help"]).output == Finished(["help"]).output)
    }

    @Test func version() throws {
        for flag in ["--version", "-V"] {
            let finished = try Finished([flag])
            #expect(finished.end == .exited(0) && finished.errors == "")
            #expect(finished.output.wholeMatch(of: /transfer \d+\.\d+\.\d+\n/) != nil)
        }
    }

    @Test func aReaderThatGoesIsNoFailure() throws {
        #expect(try Finished(["help", "push"], Surroundings(output: .brokenPipe)).end == .exited(0))
    }
}
