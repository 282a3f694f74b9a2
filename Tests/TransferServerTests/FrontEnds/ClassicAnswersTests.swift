import Testing
import TransferClassic
import TransferModel

@testable import TransferServer

/// Answers are sent in the order of the uploads.
@Suite struct ClassicAnswersTests {
    private static func upload(_ number: Int) -> ClassicUpload { ClassicUpload(number: UInt64(number)) }

    private static func path(_ place: Int) -> ClassicResult { ClassicResult(.committed, path: "\(place)") }

    /// The order of the results, and of the requests for answers between them, does not matter.
    @Test func inOrderOfTheUploads() {
        for order in permutations(of: [0, 1, 2, 3]) {
            var answers = ClassicAnswers()
            for number in 0..<4 { #expect(answers.began(Self.upload(number)) == number) }
            var told: [String?] = []
            for (count, place) in order.enumerated() {
                answers.settled(place, Self.path(place))
                told += answers.take().map { upload, result in
                    #expect("\(upload.number)" == result.path)
                    return result.path
                }
                let settled = Set(order[...count])
                let front = (0..<4).prefix { settled.contains($0) }.count
                #expect(told.count == front && answers.count == 4 - front)
            }
            #expect(told == ["0", "1", "2", "3"])
        }
    }

    /// A client may use an ID of an earlier upload again, and gets an answer for each use.
    @Test func theSameNumberTwice() {
        var answers = ClassicAnswers()
        let places = [answers.began(Self.upload(7)), answers.began(Self.upload(7))]
        answers.settled(places[1], Self.path(1))
        #expect(answers.take().isEmpty)
        answers.settled(places[0], Self.path(0))
        #expect(answers.take().map(\.result.path) == ["0", "1"])
    }

    private func permutations(of items: [Int]) -> [[Int]] {
        guard let last = items.last else { return [[]] }
        return permutations(of: Array(items.dropLast())).flatMap { rest in
            (0...rest.count).map { Array(rest[..<$0]) + [last] + Array(rest[$0...]) }
        }
    }
}
