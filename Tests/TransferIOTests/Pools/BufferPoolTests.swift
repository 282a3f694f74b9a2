import Testing
import TransferIO

@Suite(.timeLimit(.minutes(10))) struct BufferPoolTests {
    @Test func buffersHaveTheSizeAndStartAtAPage() {
        let pool = BufferPool(size: 8192, count: 2)
        #expect(pool.size == 8192)
        let buffers = [pool.takeNow(), pool.takeNow()]
        for buffer in buffers {
            #expect(buffer?.bytes.count == 8192)
            #expect(buffer?.bytes.baseAddress.map { UInt(bitPattern: $0) % 4096 } == 0)
        }
        #expect(buffers[0]?.bytes.baseAddress != buffers[1]?.bytes.baseAddress)
    }

    @Test func nothingIsLeftWhenAllAreOutAndThereIsAgainWhenOneIsBack() {
        let pool = BufferPool(size: 4096, count: 2)
        var first = pool.takeNow()
        let second = pool.takeNow()
        #expect(first != nil && second != nil)
        #expect(pool.takeNow() == nil)
        let memory = first?.bytes.baseAddress
        first = nil
        let again = pool.takeNow()
        #expect(again?.bytes.baseAddress == memory)
        #expect(pool.takeNow() == nil)
        withExtendedLifetime(second) {}
    }

    @Test func moreThanHalfIsScarce() {
        let pool = BufferPool(size: 4096, count: 4)
        var buffers = [pool.takeNow(), pool.takeNow()]
        #expect(!pool.isScarce())
        buffers.append(pool.takeNow())
        #expect(pool.isScarce())
        buffers.removeLast()
        #expect(!pool.isScarce())
        withExtendedLifetime(buffers) {}
    }

    @Test func neverMoreThanThereAreAndNoneInTwoHands() async {
        let pool = BufferPool(size: 4096, count: 3)
        let holders = Crowd()
        await withTaskGroup { group in
            for mark in 0..<12 as Range<UInt8> {
                group.addTask {
                    for _ in 0..<60 {
                        let buffer = await pool.take()
                        holders.enter()
                        buffer.bytes.initializeMemory(as: UInt8.self, repeating: mark)
                        await Task.yield()
                        #expect(buffer.bytes.allSatisfy { $0 == mark })
                        holders.leave()
                    }
                }
            }
        }
        #expect((1...3).contains(holders.most))
        // All buffers are back.
        let all = (0..<3).map { _ in pool.takeNow() }
        #expect(all.allSatisfy { $0 != nil })
    }

    /// A second account finds as many buffers as the first one has, and so does the next; the last eighth is for
    /// accounts without a buffer.
    @Test func anAccountLeavesAsManyAsItHas() {
        let pool = BufferPool(size: 4096, count: 16)
        var held: [BlockBuffer] = []
        var counts: [Int] = []
        for _ in 0..<5 {
            let account = BufferAccount()
            let before = held.count
            while let buffer = pool.takeNow(for: account) { held.append(buffer) }
            counts.append(held.count - before)
        }
        #expect(counts == [8, 4, 2, 1, 1])
    }

    @Test func anAccountWithMostOfItsOwnIsScarce() {
        let pool = BufferPool(size: 4096, count: 16)
        let account = BufferAccount()
        var held = (0..<6).map { _ in pool.takeNow(for: account) }
        #expect(!pool.isScarce(for: account))
        held.append(pool.takeNow(for: account))
        #expect(pool.isScarce(for: account) && !pool.isScarce())
        withExtendedLifetime(held) {}
    }

    /// However many tasks wait for one account, the other account gets the next buffer.
    @Test func accountsThatWaitTakeTurns() async throws {
        try await onLoop { actor in
            let pool = BufferPool(size: 4096, count: 1)
            var only: BlockBuffer? = await pool.take()
            let (many, few) = (BufferAccount(), BufferAccount())
            var served: [String] = []
            let waiting = (0..<6).map { number in
                Task.immediate(executorPreference: actor.loop) {
                    _ = actor
                    let buffer = await pool.take(for: number == 5 ? few : many)
                    served.append(number == 5 ? "few" : "many")
                    withExtendedLifetime(buffer) {}
                }
            }
            await Task.immediate(executorPreference: actor.loop) { _ = actor }.value
            #expect(only != nil && served.isEmpty)
            only = nil
            for task in waiting { await task.value }
            #expect(served.prefix(2) == ["many", "few"] && served.count == 6)
        }
    }

    @Test func whoWaitsIsServedInTurn() async throws {
        try await onLoop { actor in
            let pool = BufferPool(size: 4096, count: 1)
            var only: BlockBuffer? = await pool.take()
            let memory = only?.bytes.baseAddress
            var served: [Int] = []
            let waiting = (0..<5).map { number in
                Task.immediate(executorPreference: actor.loop) {
                    _ = actor
                    let buffer = await pool.take()
                    #expect(buffer.bytes.baseAddress == memory)
                    served.append(number)
                }
            }
            // The loop runs queued jobs in order: all tasks wait by the time this one has run.
            await Task.immediate(executorPreference: actor.loop) { _ = actor }.value
            #expect(served.isEmpty)
            #expect(pool.takeNow() == nil)
            only = nil
            for task in waiting { await task.value }
            #expect(served == [0, 1, 2, 3, 4])
        }
    }
}
