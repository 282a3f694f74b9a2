import Synchronization
import Testing
import TransferModel

@testable import TransferClient

@Suite struct EventChannelTests {
    private static func event(_ number: Int) -> PushEvent { .counted(files: number, bytes: 0) }

    private static func number(_ event: PushEvent?) -> Int? {
        guard case .counted(let number, _)? = event else { return nil }
        return number
    }

    private static func numbers(_ count: Int, from channel: EventChannel) async throws -> [Int] {
        var numbers: [Int] = []
        while numbers.count < count, let number = number(try await channel.next()) { numbers.append(number) }
        return numbers
    }

    @Test func eventsComeInOrderAndThenTheEnd() async throws {
        let channel = EventChannel()
        for number in 0..<20_000 { channel.send(Self.event(number)) }
        channel.finish(.success(()))
        #expect(try await Self.numbers(20_000, from: channel) == Array(0..<20_000))
        #expect(Self.number(try await channel.next()) == nil)
        #expect(Self.number(try await channel.next()) == nil)
    }

    @Test func theFailureComesAfterTheEvents() async throws {
        let channel = EventChannel()
        channel.send(Self.event(1))
        channel.finish(.failure(TransferFailure(reason: .unreachable, message: "Gone.")))
        #expect(Self.number(try await channel.next()) == 1)
        await #expect(throws: TransferFailure(reason: .unreachable, message: "Gone.")) { try await channel.next() }
    }

    /// The sender is notified once, when the reader of a full channel has taken half of the events, however far past
    /// the limit it was filled.
    @Test(arguments: [8192, 8193, 20_000])
    func theSenderIsToldWhenThereIsRoom(_ count: Int) async throws {
        let channel = EventChannel()
        let told = Atomic<Int>(0)
        channel.connect(onRoom: { told.add(1, ordering: .relaxed) }, onCancel: {})
        #expect(!channel.isFull)
        for number in 0..<count { channel.send(Self.event(number)) }
        #expect(channel.isFull)
        #expect(try await Self.numbers(count, from: channel) == Array(0..<count))
        #expect(!channel.isFull)
        #expect(told.load(ordering: .relaxed) == 1)
    }

    @Test func aReaderThatWaitsIsWoken() async throws {
        let channel = EventChannel()
        let reader = Task {
            var numbers: [Int] = []
            while let number = Self.number(try await channel.next()) { numbers.append(number) }
            return numbers
        }
        for number in 0..<1000 {
            channel.send(Self.event(number))
            if number.isMultiple(of: 10) { await Task.yield() }
        }
        channel.finish(.success(()))
        #expect(try await reader.value == Array(0..<1000))
    }

    /// A reader receives gathered events, whether it was waiting before or arrives while they are gathered.
    @Test func aReaderGetsWhatIsGathered() async throws {
        let channel = EventChannel()
        let reader = Task {
            var numbers: [Int] = []
            while let number = Self.number(try await channel.next()) { numbers.append(number) }
            return numbers
        }
        for round in 0..<100 {
            channel.gather {
                for number in 0..<round % 4 { channel.send(Self.event(4 * round + number)) }
            }
            await Task.yield()
        }
        channel.finish(.success(()))
        #expect(try await reader.value == (0..<400).filter { $0 % 4 < $0 / 4 % 4 })
    }

    @Test func tellsWhetherEventsWait() async throws {
        let channel = EventChannel()
        #expect(!channel.hasEvents)
        channel.gather { channel.send(Self.event(1)) }
        #expect(channel.hasEvents)
        _ = try await channel.next()
        #expect(!channel.hasEvents)
    }

    @Test func cancellingIsToldOnceEvenWhenItCameBefore() {
        let channel = EventChannel()
        let told = Atomic<Int>(0)
        channel.cancel()
        channel.connect(onRoom: {}, onCancel: { told.add(1, ordering: .relaxed) })
        #expect(told.load(ordering: .relaxed) == 1)
        channel.cancel()
        #expect(told.load(ordering: .relaxed) == 1)
    }
}
