import Testing

@testable import TransferClient

@Suite struct LookupGovernorTests {
    private typealias Orders = LookupGovernor.Orders

    private static let all = Orders(questions: .max, unasked: 0)
    private static let none = Orders()
    private static let sample = Orders(questions: LookupGovernor.sample)

    /// A governor that is certain that the server knows the next files, or that it does not.
    private static func governor(knows: Bool) -> LookupGovernor {
        var governor = LookupGovernor()
        governor.asked()
        if knows { governor.knew() } else { governor.missed(LookupGovernor.sample) }
        return governor
    }

    @Test func atFirstAFewAreAskedAboutAndLittleIsSent() {
        var governor = LookupGovernor()
        #expect(governor.orders(open: 0) == Orders(questions: 32, unasked: 14_480))
        governor.sent(unasked: 1, bytes: 10_000)
        #expect(governor.orders(open: 30) == Orders(questions: 2, unasked: 4_480))
        governor.sent(unasked: 1, bytes: 5_000)
        #expect(governor.orders(open: 32) == Orders(questions: 0, unasked: 0))
    }

    /// Files before the first lookup are sent at once, and none after it.
    @Test func theFirstQuestionEndsTheFlight() {
        var governor = LookupGovernor()
        governor.asked()
        #expect(governor.orders(open: 1) == Orders(questions: 31, unasked: 0))
    }

    @Test func whatIsKnownIsFollowedByQuestionsOnly() {
        #expect(Self.governor(knows: true).orders(open: 4_000) == Self.all)
    }

    @Test func aFewThatAreNewChangeNothing() {
        var governor = Self.governor(knows: true)
        for _ in 0..<10 {
            governor.missed(LookupGovernor.patience - 1)
            governor.knew()
        }
        #expect(governor.orders(open: 0) == Self.all)
    }

    @Test func manyNewOnesInARowAreFollowedByContent() {
        var governor = Self.governor(knows: true)
        governor.missed(200)
        governor.missed(LookupGovernor.patience - 200)
        #expect(governor.orders(open: 0) == Self.none)
    }

    /// In the first push of a large tree, lookups become rarer and rarer.
    @Test func samplesBecomeRare() {
        var governor = Self.governor(knows: false)
        var pauses: [Int] = []
        for _ in 0..<7 {
            var sent = 0
            while governor.orders(open: 0) == Self.none {
                governor.sent(unasked: 64, bytes: 0)
                sent += 64
            }
            #expect(governor.orders(open: 0) == Self.sample)
            governor.asked()
            governor.missed(LookupGovernor.sample)
            pauses.append(sent)
        }
        #expect(pauses == [256, 512, 1024, 2048, 4096, 4096, 4096])
    }

    @Test func oneThatIsKnownInASampleIsEnough() {
        var governor = Self.governor(knows: false)
        governor.knew()
        governor.missed(31)
        #expect(governor.orders(open: 0) == Self.all)
    }

    /// Content that the server already had makes the next sample come sooner, but holds nothing back.
    @Test func contentInVainShortensThePause() {
        var governor = Self.governor(knows: false)
        for _ in 0..<5 { governor.asked() }
        governor.sent(unasked: 300, bytes: 0)
        #expect(governor.orders(open: 0) == Self.none)
        governor.sentInVain()
        #expect(governor.orders(open: 0) == Self.sample)
    }

    @Test func afterALossEverythingIsAskedAbout() {
        var governor = Self.governor(knows: false)
        governor.lost()
        #expect(governor.orders(open: 0) == Self.all)
        governor.missed(LookupGovernor.patience)
        #expect(governor.orders(open: 0) == Self.none)
    }
}

/// Comparisons of whole folders.
@Suite struct LookupGovernorFolderTests {
    private static let room = FolderRoom(questions: 5, cost: 5, files: 5)

    private static func governor() -> LookupGovernor {
        var governor = LookupGovernor()
        #expect(governor.orders(open: 0, folders: room).folders == nil)
        governor.asked()
        governor.knew()
        return governor
    }

    @Test func onlyWhereTheServerKnowsWhatComes() {
        var governor = Self.governor()
        #expect(governor.orders(open: 0, folders: Self.room).folders == Self.room)
        #expect(governor.orders(open: 0).folders == nil)
        governor.missed(LookupGovernor.patience)
        #expect(governor.orders(open: 0, folders: Self.room).folders == nil)
    }

    @Test func strangeFoldersAreFollowedByQuestionsAboutFiles() {
        var governor = Self.governor()
        for _ in 0..<LookupGovernor.folderPatience { governor.compared(isKnown: false) }
        #expect(governor.orders(open: 0, folders: Self.room).folders == Self.room)
        var pause = LookupGovernor.folderPauses.lowerBound
        for _ in 0..<12 {
            governor.compared(isKnown: false)
            for _ in 0..<pause - 1 { governor.knew() }
            #expect(governor.orders(open: 0, folders: Self.room).folders == nil)
            governor.missed(1)
            #expect(governor.orders(open: 0, folders: Self.room).folders == Self.room)
            pause = min(2 * pause, LookupGovernor.folderPauses.upperBound)
        }
    }

    @Test func knownFoldersMakeUpForStrangeOnes() {
        var governor = Self.governor()
        for _ in 0..<200 {
            governor.compared(isKnown: true)
            governor.compared(isKnown: false)
        }
        #expect(governor.orders(open: 0, folders: Self.room).folders == Self.room)
    }

    @Test func moreAreAskedAboutAsMoreAreKnown() {
        var governor = Self.governor()
        #expect(governor.folderWindow == LookupGovernor.folderPatience)
        governor.compared(isKnown: false)
        #expect(governor.folderWindow == LookupGovernor.folderPatience)
        for _ in 0..<100 { governor.compared(isKnown: true) }
        #expect(governor.folderWindow == LookupGovernor.folderPatience + 200)
    }
}
