import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct WatchOptionsSelectionTests {
    private func sends(_ path: String, _ rules: [PathRule] = [], moveTo target: String? = nil) throws -> Bool {
        var options = WatchOptions()
        options.selection.rules = rules
        let selection = try options.selection(in: "/w", without: target.map { MoveTarget($0) })
        var filter = WalkFilter(selection)
        var components = path.split(separator: "/").map(String.init)
        let name = components.removeLast()
        for component in components {
            guard let below = filter.entering(component) else { return false }
            filter = below
        }
        return filter.sends(name)
    }

    @Test(arguments: [
        "a.part", "a.jpg.tmp", "movie.crdownload", ".~lock.a.odt", "a~", ".#a", "a.swp", ".transfer-1", "sub/a.part",
        "~$letter.docx", "._a.jpg", ".DS_Store", ".Trash-1000/files/a", "System Volume Information/a", "lost+found/a",
    ])
    func temporaryNamesAreLeftOut(_ path: String) throws {
        #expect(try !sends(path))
    }

    @Test(arguments: ["a.jpg", "part", "a.part.jpg", ".hidden", "tmp", "a~b", "#a", "download/a"])
    func othersAreSent(_ path: String) throws {
        #expect(try sends(path))
    }

    @Test func aRuleBringsThemBack() throws {
        let rules = [try PathRule(.include, "*.part"), try PathRule(.exclude, "*.raw")]
        #expect(try sends("a.part", rules))
        #expect(try !sends("a.tmp", rules) && !sends("a.raw", rules))
        #expect(try sends("a.jpg", rules))
    }

    @Test func onlyWhatIsIncluded() throws {
        let rules = [try PathRule(.include, "*.jpg")]
        #expect(try sends("a.jpg", rules) && sends("sub/a.jpg", rules))
        #expect(try !sends("a.txt", rules) && !sends("a.part", rules))
        #expect(try sends("sub/a.jpg", rules, moveTo: "/w/done"))
        #expect(try !sends("a.txt", rules, moveTo: "/w/done"))
    }

    /// No rule can include moved files: they would be sent again and again.
    @Test func whatWasMovedIsLeftOut() throws {
        let rules = [try PathRule(.include, "*")]
        #expect(try !sends("done/a", rules, moveTo: "/w/done"))
        #expect(try sends("sub/done/a", rules, moveTo: "/w/done"))
        #expect(try sends("done", rules, moveTo: "/w/done"))
        #expect(try sends("done/a", rules, moveTo: "/elsewhere"))
    }

    @Test func patternsInItsNameAreLetters() throws {
        #expect(try !sends("[a]*/x", moveTo: "/w/[a]*"))
        #expect(try sends("ab/x", moveTo: "/w/[a]*"))
    }
}
